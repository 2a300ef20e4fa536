import { setTimeout as sleep } from 'node:timers/promises';
import type { BatonClient, RuleEvaluation } from '@baton/sdk';
import { DemoFailed } from '../demo-failed.ts';
import { demoRole } from '../demo-role.ts';
import type { Participant } from '../participants.ts';
import type { Company } from './company.ts';

/** A task that an agent has finished, and its due date. */
export interface FinishedTask {
  readonly id: string;
  readonly publicId: string;
  readonly title: string;
  readonly doneBy: string;
  readonly workingMinutes: number;
  readonly due: string;
  /** The due date calculated with the calendar version that lacks the holiday. */
  readonly dueWithoutHoliday: string;
}

/** The task that a rule derived from the finished one, read from the journal. */
export interface DerivedTask {
  readonly id: string;
  readonly publicId: string;
  readonly title: string;
  readonly workspaceId: string;
  readonly status: string;
  readonly why: {
    readonly ruleKey: string;
    readonly ruleVersion: number;
    readonly evaluation: string;
    readonly triggerEvent: string;
    readonly dedupKey: string;
  };
}

/** Two days of work. */
const workingMinutes = 960;
const waitMs = 30_000;
const pollMs = 200;

/** Lets an agent take a change of the shop and finish it. */
export async function finishOneTask(
  operator: BatonClient,
  agent: Participant,
  { calendar, shop, taskType }: Company,
  now: Date,
): Promise<FinishedTask> {
  const dueBy = async (version: number) => {
    const asked = { from: now.toISOString(), addWorkingMinutes: workingMinutes };
    const computed = await operator.calendars.compute(`${calendar.key}@${version}`, asked);
    if (!('to' in computed)) throw new Error('minutes were added, but no instant was returned');
    return computed.to;
  };
  const [dueWithoutHoliday, due] = [await dueBy(1), await dueBy(2)];
  const { id, publicId, title } = await operator.tasks.create({
    title: 'Let customers pay by invoice',
    typeKey: taskType,
    workspaceId: shop.workspaceId,
    requirements: { roles: [demoRole] },
    priority: 'high',
    dueDate: due,
  });
  await using harness = await agent.baton.harness.open({ name: agent.name, type: 'baton-demo' });
  const accepts = (task: { id: string }) => task.id === id;
  for await (const lease of harness.work({ filter: { workspaceId: shop.workspaceId }, accepts, once: true }))
    await lease.succeed();
  return { id, publicId, title, doneBy: agent.name, workingMinutes, due, dueWithoutHoliday };
}

/**
 * Waits until the rule has been evaluated for the finished task, and reads the derived task from the journal.
 * @throws DemoFailed if there is no derived task before the timeout
 */
export async function findDerivedTask(operator: BatonClient, company: Company): Promise<DerivedTask> {
  const evaluation = await firstEvaluation(operator, company.rule.id);
  const [taskId] = evaluation.createdTaskIds;
  if (evaluation.status !== 'matched' || taskId === undefined)
    throw new DemoFailed(`The rule ${company.rule.key} ended ${evaluation.status} and created no task.`);
  const { publicId, title, status } = await operator.tasks.get(taskId);
  const payload = await derivationOf(operator, taskId);
  return {
    id: taskId,
    publicId,
    title,
    workspaceId: company.shop.workspaceId,
    status,
    why: {
      ruleKey: String(payload['ruleKey']),
      ruleVersion: Number(payload['ruleVersion']),
      evaluation: evaluation.id,
      triggerEvent: evaluation.triggerRef,
      dedupKey: String(payload['dedupKey']),
    },
  };
}

async function firstEvaluation(operator: BatonClient, ruleId: string): Promise<RuleEvaluation> {
  for (const untilMs = performance.now() + waitMs; performance.now() < untilMs; await sleep(pollMs)) {
    const found = (await operator.rules.listEvaluations(ruleId)).items.find(
      ({ status }) => !['waiting', 'not_matched'].includes(status),
    );
    if (found !== undefined) return found;
  }
  throw new DemoFailed(`No rule was evaluated within ${waitMs / 1000} s: is a worker running?`);
}

async function derivationOf(
  operator: BatonClient,
  taskId: string,
): Promise<Readonly<Record<string, unknown>>> {
  const query = { types: 'work.derived', entityType: 'task', entityId: taskId };
  for (const untilMs = performance.now() + waitMs; performance.now() < untilMs; await sleep(pollMs)) {
    const [event] = (await operator.events.list(query)).items;
    if (event !== undefined) return event.payload;
  }
  throw new DemoFailed(`The journal does not contain the origin of the task ${taskId} comes from.`);
}
