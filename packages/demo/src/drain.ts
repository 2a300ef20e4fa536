import { setTimeout as sleep } from 'node:timers/promises';
import { type Drain, runAgent } from './agent.ts';
import { planKills } from './kill-plan.ts';
import type { Participant, Participants } from './participants.ts';
import { reviewApprovals } from './reviewer.ts';
import { resumeStalledWriter } from './stalled-writer.ts';
import type { Tally } from './tally.ts';

export interface DrainOptions {
  readonly tasks: number;
  readonly kill: boolean;
  /** The average duration of the work on one task. */
  readonly workMs: number;
  readonly tally: Tally;
}

/** The shortest lease that the service grants, so that a killed agent's task soon becomes available again. */
const killLeaseSeconds = 10;
const leaseSeconds = 60;
const pollMs = 250;
const stalledMsMax = 60_000;

/** Lets all agents work until no tasks remain. @returns the duration in seconds */
export async function drainBacklog(participants: Participants, options: DrainOptions): Promise<number> {
  const { tally, tasks, kill, workMs } = options;
  const startedMs = performance.now();
  const over = new AbortController();
  const drain: Drain = {
    workspaceId: participants.workspace.id,
    leaseSeconds: kill ? killLeaseSeconds : leaseSeconds,
    workMs,
    kills: kill ? planKills(tasks) : new Map(),
    tally,
    over: over.signal,
  };
  const stalled: Promise<void>[] = [];
  let killed = 0;
  let seconds = 0;
  const work = async (participant: Participant) => {
    while (!over.signal.aborted) {
      const end = await runAgent(participant, drain);
      if (typeof end === 'string') continue;
      killed += 1;
      // Every second killed agent, starting with the first, resumes after its lease has expired.
      if (killed % 2 === 1) stalled.push(resumeStalledWriter(end, drain.leaseSeconds, tally));
    }
  };
  const { baton, principalId } = participants.reviewer;
  const watching = untilDone(participants, options, over.signal).then(() => {
    seconds = (performance.now() - startedMs) / 1000;
    over.abort();
  });
  const parts = [
    watching,
    reviewApprovals(baton, principalId, tally, over.signal),
    ...participants.agents.map(work),
  ];
  await settled(parts, over);
  await Promise.all(stalled);
  return seconds;
}

/** Waits for all agents; the first failure stops the others and is rethrown. */
async function settled(parts: readonly Promise<void>[], over: AbortController): Promise<void> {
  const endOthers = (error: unknown) => {
    over.abort();
    throw error;
  };
  const outcomes = await Promise.allSettled(parts.map((part) => part.catch(endOthers)));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** Waits until the service has no unfinished task of the demo, or no claim has been granted for over a minute. */
async function untilDone(
  { operator, workspace }: Participants,
  { tally, tasks, workMs }: DrainOptions,
  over: AbortSignal,
): Promise<void> {
  let claimedAtMs = performance.now();
  let claimsSeen = 0;
  while (!over.aborted) {
    const query = { workspaceId: workspace.id, systemStatusCategory: 'active', limit: 1 } as const;
    const { items } = await operator.baton.tasks.list(query);
    if (items.length === 0) {
      tally.completeAll(tasks);
      return;
    }
    if (tally.claims !== claimsSeen) {
      claimsSeen = tally.claims;
      claimedAtMs = performance.now();
    }
    if (performance.now() - claimedAtMs > stalledMsMax + workMs * 2) return;
    await sleep(pollMs);
  }
}
