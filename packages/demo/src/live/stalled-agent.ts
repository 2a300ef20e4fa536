import { setTimeout as sleep } from 'node:timers/promises';
import { type BatonClient, BatonError } from '@baton/sdk';

export interface StalledAgentOptions {
  readonly baton: BatonClient;
  readonly taskId: string;
  readonly signal: AbortSignal;
  say(what: string): void;
}

/** The shortest possible lease, so that the visitor doesn't have to wait long for it to expire. */
const leaseSeconds = 10;
/** The agent stalls for this much longer than its lease, so that another one will have taken the task. */
const longerMs = 4_000;

/**
 * An agent that takes a task, stalls for longer than its lease, and then attempts to write.
 * It calls the API directly, because the SDK's harness would extend the lease, or reject the late write before
 * sending it.
 * @returns the error code of its late write
 * @throws Error if the late write was accepted
 */
export async function runStalledAgent({ baton, taskId, signal, say }: StalledAgentOptions): Promise<string> {
  const session = await baton.sessions.open({
    clientName: 'Robin',
    harness: { type: 'baton-demo' },
    ttlSeconds: 120,
  });
  try {
    const { id: sessionId } = session;
    const { id: claimId, fencingToken } = await baton.tasks.claim(taskId, {
      sessionId,
      ttlSeconds: leaseSeconds,
      intent: 'Robin takes it, and will stall',
    });
    const run = await baton.tasks.startRun(taskId, { claimId, fencingToken });
    const { publicId } = await baton.tasks.get(taskId);
    say(`takes ${publicId} and stalls: its lease ends in ${leaseSeconds} s`);
    await sleep(leaseSeconds * 1_000 + longerMs, undefined, { signal });
    const code = await baton.runs
      .succeed(run.id)
      .then(() => undefined)
      .catch((error: unknown) => {
        if (error instanceof BatonError && error.status < 500) return error.code;
        throw error;
      });
    if (code === undefined)
      throw new Error(`the write of an agent whose lease on ${publicId} has expired was accepted`);
    say(`resumes and attempts to finish ${publicId}: rejected with ${code}`);
    await baton.tasks.createComment(taskId, {
      body: `I stalled for ${leaseSeconds + longerMs / 1_000} seconds. When I resumed and attempted to finish this task, Baton rejected it (${code}): my lease had ended.`,
    });
    return code;
  } finally {
    await baton.sessions.close(session.id).catch(() => undefined);
  }
}
