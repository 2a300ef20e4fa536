import { newId } from '@baton/values/ids';
import type { TestCoordination } from '../coordination.ts';
import { claimTask, done, makeRun, type Worker } from '../leases.ts';

/** Tools for tests of launches and cancellations of runs. */

export const newKey = () => ({ 'idempotency-key': newId() });

/** Sends a launch as the run's executor. */
export function launch(by: Worker, runId: string, more: object = {}, key = newKey()) {
  const body = { correlationId: newId(), title: 'a part of the work', ...more };
  return by.actor.post(`/runs/${runId}/child-handles`, body, key);
}

/** Claims the task of a launch and starts a run on it. */
export async function startChild(by: Worker, taskId: string) {
  const claim = await claimTask(by, taskId);
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  return { claim, run: await done(by.actor.post(`/tasks/${taskId}:start-run`, keys), 201) };
}

/** A running run with a running child. */
export async function makeFamily(
  baton: TestCoordination,
  { parent, child }: { parent: Worker; child: Worker },
  more: object = {},
) {
  const made = await makeRun(baton, parent);
  const { childHandle: handle, childTask, handleToken } = await done(launch(parent, made.run.id, more), 201);
  return { ...made, handle, childTask, handleToken, child: await startChild(child, childTask.id) };
}

/** Sends a message to a run whose version is `expectedRunVersion`. */
export function say(by: Worker['actor'], runId: string, more: object, key = newKey()) {
  return by.post(
    `/runs/${runId}/control-messages`,
    { causalPosition: 'start', expectedRunVersion: 1, ...more },
    key,
  );
}

export const forceCancel = { operation: 'force_cancel', reason: 'it runs wild' };
