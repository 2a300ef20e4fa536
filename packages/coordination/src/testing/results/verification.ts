import { sql } from '@baton/kernel/database/sql';
import { evaluateDueAttempts } from '../../results/verification/verification-job.ts';
import type { Actor, TestCoordination } from '../coordination.ts';
import { done, makeTask } from '../leases.ts';
import { makeWorkerTools } from '../sweepers.ts';

export const checkBy = (kind: string, more: object = {}) => ({
  key: 'checked',
  kind,
  description: 'It has been checked.',
  ...more,
});

/** A worker that runs verifications on a test's request. */
export function makeVerifier(baton: TestCoordination, logged: string[] = []) {
  const { tools, close } = makeWorkerTools(baton, logged);
  const job = evaluateDueAttempts(tools);
  return { close, run: () => job.run() };
}

const completers = new WeakMap<TestCoordination, Promise<Actor>>();

/**
 * An agent that requests completions. The requester can't decide the checks, so that the administrator is left to
 * decide them.
 */
function completerOf(baton: TestCoordination): Promise<Actor> {
  const known = completers.get(baton) ?? baton.actor();
  completers.set(baton, known);
  return known;
}

/** The administrator's task whose completion was requested, by an agent by default, so that an attempt is open. */
export async function openVerification(
  baton: TestCoordination,
  acceptance: object[],
  more: object = {},
  by?: Actor,
) {
  const task = await makeTask(baton, { ownerId: baton.admin.principalId, acceptance, ...more });
  const completer = by ?? (await completerOf(baton));
  return done(completer.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${task.version}` }));
}

/** Makes the next poll due, and moves the start of the current wait the given number of seconds into the past. */
export async function letTimePass(baton: TestCoordination, taskId: string, seconds: number): Promise<void> {
  await baton.pool.run(sql`
    update verifications
    set next_check_at = now() - interval '1 ms', waiting_since = waiting_since - make_interval(secs => ${seconds})
    where task_id = ${taskId} and finished_at is null`);
}
