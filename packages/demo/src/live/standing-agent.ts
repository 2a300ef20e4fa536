import { setTimeout as sleep } from 'node:timers/promises';
import { type BatonClient, BatonError } from '@baton/sdk';

export interface StandingAgentOptions {
  readonly baton: BatonClient;
  readonly taskId: string;
  readonly signal: AbortSignal;
  say(what: string): void;
}

/** The shortest lease that there is, so that the visitor needn't wait long for its end. */
const leaseSeconds = 10;
/** After the end of its lease the agent stands still this much longer, so that another one has taken the task. */
const longerMs = 4_000;

/**
 * An agent that takes a task, stands still for longer than its lease, and then wants to write as if nothing had happened.
 * It calls the API itself: the SDK's harness would keep the lease, and would refuse the late write before it is sent.
 * @returns the code with which its late write was refused
 * @throws Error when the late write was taken
 */
export async function runStandingAgent({
  baton,
  taskId,
  signal,
  say,
}: StandingAgentOptions): Promise<string> {
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
      intent: 'Robin does it, and will stand still',
    });
    const run = await baton.tasks.startRun(taskId, { claimId, fencingToken });
    const { publicId } = await baton.tasks.get(taskId);
    say(`takes ${publicId} and stands still: its lease ends in ${leaseSeconds} s`);
    await sleep(leaseSeconds * 1_000 + longerMs, undefined, { signal });
    const code = await baton.runs
      .succeed(run.id)
      .then(() => undefined)
      .catch((error: unknown) => {
        if (error instanceof BatonError && error.status < 500) return error.code;
        throw error;
      });
    if (code === undefined)
      throw new Error(`the write of an agent whose lease on ${publicId} is over was taken`);
    say(`wakes up and wants to finish ${publicId}: refused with ${code}`);
    await baton.tasks.createComment(taskId, {
      body: `I stood still for ${leaseSeconds + longerMs / 1_000} seconds. When I woke up I wanted to finish this task, and Baton refused it (${code}): my lease had ended.`,
    });
    return code;
  } finally {
    await baton.sessions.close(session.id).catch(() => undefined);
  }
}
