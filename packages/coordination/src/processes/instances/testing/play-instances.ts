import { sql } from '@baton/kernel/database/sql';
import { activityId } from '@baton/process-engine/engine/ids/activity-ids';
import type { Spec } from '@baton/process-engine/engine/testing/random-definitions';
import { newId } from '@baton/values/ids';
import type { Actor, TestCoordination } from '../../../testing/coordination.ts';
import { done } from '../../../testing/leases.ts';
import { claimCall } from '../../../testing/results/invocations.ts';
import { observe } from '../../../testing/rules/rules.ts';
import { kindOf } from './playable.ts';

/** People, executors and operators who perform random operations that an instance allows, through the API only. */

export interface Played {
  readonly id: string;
  readonly key: string;
  /** Shortened. */
  readonly spec: Spec;
  /** The number of accepted operator actions. */
  readonly accepted: Record<string, number>;
  isOver: boolean;
}

export interface Players {
  readonly baton: TestCoordination;
  /** A number from 0 to just below 1. */
  readonly random: () => number;
  readonly executor: Actor;
  readonly skill: { contract: { implementation: { entrypoint: string } } };
  readonly voters: readonly Actor[];
}

interface OpenElement {
  id: string;
  taskId: string | null;
  approvalIds: string[];
  attempt: number;
}

/** One action on an instance. */
export async function actAtRandom(players: Players, one: Played): Promise<void> {
  const { baton, random } = players;
  const pick = <Value>(of: readonly Value[]): Value => of[Math.floor(random() * of.length)] as Value;
  const instance = await done(baton.admin.get(`/process-instances/${one.id}`));
  one.isOver = !['running', 'suspended'].includes(instance.status);
  if (one.isOver) return;
  const operate = async (verb: string, body: object) => {
    const answer = await baton.admin.post(`/process-instances/${one.id}:${verb}`, body);
    if (answer.status < 300) one.accepted[verb] = (one.accepted[verb] ?? 0) + 1;
    // Another was faster.
    else if (![409, 422].includes(answer.status)) throw new Error(`${verb}: ${JSON.stringify(answer.body)}`);
  };
  const chance = random();
  if (chance < 0.006) return operate('cancel', { reason: 'at random', compensate: random() < 0.7 });
  if (instance.status === 'suspended') {
    const element = instance.suspension?.element;
    if (element != null && chance < 0.4) return operate('skip', { element, reason: 'at random' });
    return operate('resume', {});
  }
  if (chance < 0.03) return operate('suspend', { reason: 'at random' });
  const open = (instance.openElements as OpenElement[]).filter(
    ({ taskId, approvalIds }) => taskId !== null || approvalIds.length > 0,
  );
  if (chance < 0.15 || open.length === 0) {
    const isHeard = random() < 0.5;
    if (!isHeard) return answerCall(players);
    await observe(baton.admin, kindOf(pick(['ping.one', 'ping.two']), one.key));
    return;
  }
  const element = pick(open);
  if (element.taskId !== null) return endTask(players, element.taskId);
  await decide(players, one, element);
}

/** It isn't a fault if one action makes another impossible. */
const isLate = (status: number) => [401, 403, 404, 409, 412, 422].includes(status);

async function endTask({ baton, random, voters }: Players, id: string): Promise<void> {
  const { admin } = baton;
  const task = await done(admin.get(`/tasks/${id}`));
  const match = (version: number) => ({ 'if-match': `task-${version}` });
  if (random() < 0.15) {
    await admin.patch(`/tasks/${id}`, { status: 'cancelled' }, match(task.version));
    return;
  }
  let { version } = task;
  if (random() < 0.6) {
    const assigneeId = voters[Math.floor(random() * voters.length)]?.principalId;
    const change = { assigneeId, customFields: { ok: random() < 0.5 } };
    const changed = await admin.patch(`/tasks/${id}`, change, match(version));
    if (changed.status >= 300) return;
    ({ version } = changed.body);
  }
  const answer = await admin.post(`/tasks/${id}:complete`, {}, match(version));
  if (answer.status >= 300 && !isLate(answer.status)) throw new Error(JSON.stringify(answer.body));
}

async function decide({ random, voters, baton }: Players, one: Played, open: OpenElement): Promise<void> {
  const id = open.approvalIds[Math.floor(random() * open.approvalIds.length)] as string;
  const voter = voters.find(
    ({ principalId }) => activityId(one.id, open.id, open.attempt, `approval/${principalId}`) === id,
  );
  if (voter === undefined) return;
  const chance = random();
  const answer =
    chance < 0.1
      ? await baton.admin.post(`/approvals/${id}:cancel`, {})
      : await voter.post(`/approvals/${id}:${chance < 0.6 ? 'approve' : 'reject'}`, {});
  if (answer.status >= 300 && !isLate(answer.status)) throw new Error(JSON.stringify(answer.body));
}

/** Claims the next call of the skill, and completes it. */
async function answerCall({ executor, skill, random }: Players): Promise<void> {
  const claimed = await claimCall(executor, skill);
  if (claimed.status === 204) return;
  const { id, fencingToken } = claimed.body.invocation;
  const answer =
    random() < 0.65
      ? { verb: 'complete', body: { output: { said: Math.floor(random() * 5) } } }
      : { verb: 'fail', body: { error: { code: 'bad', message: 'at random' } } };
  const ended = await executor.post(`/skill-invocations/${id}:${answer.verb}`, {
    fencingToken,
    ...answer.body,
  });
  if (ended.status >= 300 && !isLate(ended.status)) throw new Error(JSON.stringify(ended.body));
}

/** Waits until the instances have no work that is due within a second. */
export async function untilQuiet(
  { pool }: TestCoordination,
  ids: readonly string[],
  goOn: () => Promise<void>,
): Promise<void> {
  for (let round = 0; round < 200; round += 1) {
    await goOn();
    const busy = await pool.row<{ n: number }>(sql`
      select (
        (select count(*) from process_timers t join process_instances i on i.id = t.instance_id
          where i.id = any (${ids}::uuid[]) and i.status = 'running' and t.due_at < now() + interval '1 s')
        + (select count(*) from process_instances where id = any (${ids}::uuid[])
          and status = 'running' and kept_inputs > 0)
      )::int as n`);
    if (busy?.n === 0) return;
    await new Promise((over) => setTimeout(over, 100));
  }
  throw new Error(`not quiet: ${ids.join(', ')}`);
}

export const newKey = () => `m-${newId()}`;
