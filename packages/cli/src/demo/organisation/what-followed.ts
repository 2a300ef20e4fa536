import { setTimeout as sleep } from 'node:timers/promises';
import type { CoordinationClient } from '../../coordination-client.ts';
import { PlainError } from '../../plain-error.ts';
import type { Claim, JournalPage, Page, Run, Task } from '../../wire.ts';
import type { Participant } from '../participants.ts';
import type { Company } from './company.ts';

/** A task that an agent has finished, and until when it was due. */
export interface FinishedTask {
  readonly id: string;
  readonly publicId: string;
  readonly title: string;
  readonly doneBy: string;
  readonly workingMinutes: number;
  readonly due: string;
  /** By the version of the calendar that did not know the holiday. */
  readonly dueWithoutHoliday: string;
}

/** What a rule has made of it, as the journal tells. */
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

/** An agent takes a change of the shop and finishes it. */
export async function finishOneTask(
  operator: CoordinationClient,
  agent: Participant,
  { calendar, shop, taskType }: Company,
  now: Date,
): Promise<FinishedTask> {
  const dueBy = async (version: number) => {
    const asked = { from: now.toISOString(), addWorkingMinutes: workingMinutes };
    const path = `/calendars/${calendar.key}@${version}:compute`;
    return (await operator.call<{ to: string }>('POST', path, asked)).to;
  };
  const [dueWithoutHoliday, due] = [await dueBy(1), await dueBy(2)];
  const { id, publicId, title } = await operator.call<Task>('POST', '/tasks', {
    title: 'Let customers pay by invoice',
    typeKey: taskType,
    workspaceId: shop.workspaceId,
    priority: 'high',
    dueDate: due,
  });
  const { client } = agent;
  const session = await client.call<{ id: string }>('POST', '/sessions', { clientName: agent.name });
  const claim = await client.call<Claim>('POST', `/tasks/${id}:claim`, { sessionId: session.id });
  const { id: claimId, fencingToken } = claim;
  const run = await client.call<Run>('POST', `/tasks/${id}:start-run`, { claimId, fencingToken });
  await client.call('POST', `/runs/${run.id}:succeed`, {});
  await client.call('POST', `/sessions/${session.id}:close`, {});
  return { id, publicId, title, doneBy: agent.name, workingMinutes, due, dueWithoutHoliday };
}

interface Evaluation {
  readonly id: string;
  readonly status: string;
  readonly triggerRef: string;
  readonly createdTaskIds: readonly string[];
}

/**
 * Waits until the rule was asked about the finished task, and reads from the journal what it made.
 * @throws PlainError when nothing came of it in time
 */
export async function findWhatFollowed(operator: CoordinationClient, company: Company): Promise<DerivedTask> {
  const evaluation = await firstEvaluation(operator, company.rule.id);
  const [taskId] = evaluation.createdTaskIds;
  if (evaluation.status !== 'matched' || taskId === undefined)
    throw new PlainError(`The rule ${company.rule.key} ended ${evaluation.status} and made no task.`);
  const { publicId, title, status } = await operator.call<Task>('GET', `/tasks/${taskId}`);
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

async function firstEvaluation(operator: CoordinationClient, ruleId: string): Promise<Evaluation> {
  for (const untilMs = performance.now() + waitMs; performance.now() < untilMs; await sleep(pollMs)) {
    const path = `/rules/${ruleId}/evaluations`;
    const found = (await operator.call<Page<Evaluation>>('GET', path)).items.find(
      ({ status }) => !['waiting', 'not_matched'].includes(status),
    );
    if (found !== undefined) return found;
  }
  throw new PlainError(`No rule was asked within ${waitMs / 1000} s: is a worker running?`);
}

async function derivationOf(
  operator: CoordinationClient,
  taskId: string,
): Promise<Readonly<Record<string, unknown>>> {
  const path = `/events?types=work.derived&entityType=task&entityId=${taskId}`;
  for (const untilMs = performance.now() + waitMs; performance.now() < untilMs; await sleep(pollMs)) {
    const [event] = (await operator.call<JournalPage>('GET', path)).items;
    if (event !== undefined) return event.payload;
  }
  throw new PlainError(`The journal does not say where the task ${taskId} comes from.`);
}
