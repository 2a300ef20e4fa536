import type { Page, Task } from '../wire.ts';
import { type Drain, runAgent } from './agent.ts';
import { planKills } from './kill-plan.ts';
import type { Participants } from './participants.ts';
import { reviewApprovals } from './reviewer.ts';
import { resumeStalledWriter } from './stalled-writer.ts';
import type { Tally } from './tally.ts';

export interface DrainOptions {
  readonly tasks: number;
  readonly kill: boolean;
  /** How long the work on one task takes, on average. */
  readonly workMs: number;
  readonly tally: Tally;
}

/** The shortest lease that the service grants, so that a killed agent's task is soon free again. */
const killLeaseSeconds = 10;
const leaseSeconds = 60;
const pollMs = 250;
const stalledMsMax = 60_000;

/** Lets all agents work until no task is left. @returns seconds until the last task was done */
export async function drainBacklog(participants: Participants, options: DrainOptions): Promise<number> {
  const { tally, tasks, kill, workMs } = options;
  const startedMs = performance.now();
  const drain: Drain = {
    queueId: participants.queueId,
    agentCount: participants.agents.length,
    leaseSeconds: kill ? killLeaseSeconds : leaseSeconds,
    workMs,
    kills: kill ? planKills(tasks) : new Map(),
    tally,
    isOver: completionCheck(participants, options),
  };
  const stalled: Promise<void>[] = [];
  let killed = 0;
  let isOver = false;
  const { client, principalId } = participants.reviewer;
  const reviewing = reviewApprovals(client, principalId, tally, () => isOver);
  await Promise.all(
    participants.agents.map(async (participant, agentIndex) => {
      for (;;) {
        const end = await runAgent(participant, agentIndex, drain);
        if (end === 'no work left') return;
        if (end === 'session lost') continue;
        killed += 1;
        // Every second killed agent, the first one included, resumes after its lease has expired.
        if (killed % 2 === 1) stalled.push(resumeStalledWriter(end, drain.leaseSeconds, tally));
      }
    }),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  isOver = true;
  await Promise.all([reviewing, ...stalled]);
  return seconds;
}

/** Whether the service has no unfinished task of the queue, or no claim was granted for over a minute. */
function completionCheck(
  participants: Participants,
  { tally, tasks, workMs }: DrainOptions,
): () => Promise<boolean> {
  const query = new URLSearchParams({
    assigneeId: participants.queueId,
    systemStatusCategory: 'active',
    limit: '1',
  });
  let isDone = Promise.resolve(false);
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let claimedAtMs = performance.now();
  let claimsSeen = 0;
  const ask = async () => {
    const { items } = await participants.operator.client.call<Page<Task>>('GET', `/tasks?${query}`);
    if (items.length > 0) return false;
    // Counts also the tasks whose agent was killed before it got the response.
    tally.tasksDone = tasks;
    return true;
  };
  return async () => {
    const nowMs = performance.now();
    if (tally.claims !== claimsSeen) {
      claimsSeen = tally.claims;
      claimedAtMs = nowMs;
    }
    if (nowMs - claimedAtMs > stalledMsMax + workMs * 2) return true;
    if (nowMs - askedAtMs > pollMs) {
      askedAtMs = nowMs;
      isDone = ask();
    }
    return await isDone;
  };
}
