import type { Page, Task } from '../wire.ts';
import { liveAsAgent, type Workplace } from './agent.ts';
import type { Crew } from './crew.ts';
import { drawKills } from './kill-plan.ts';
import { wakeStalledWriter } from './stalled-writer.ts';
import type { Tally } from './tally.ts';

export interface DrainOptions {
  readonly tasks: number;
  readonly kill: boolean;
  /** How long the work on one task takes, on average. */
  readonly workMs: number;
  readonly tally: Tally;
}

/** The shortest lease that the service grants: a killed agent's task is free again soon. */
const killLeaseSeconds = 10;
const leaseSeconds = 60;
const askAgainMs = 250;
const standstillMsMax = 60_000;

/** Lets all agents work until nothing is left. @returns seconds until the last task was done */
export async function drainBacklog(crew: Crew, options: DrainOptions): Promise<number> {
  const { tally, tasks, kill, workMs } = options;
  const startedMs = performance.now();
  const workplace: Workplace = {
    queueId: crew.queueId,
    seats: crew.agents.length,
    leaseSeconds: kill ? killLeaseSeconds : leaseSeconds,
    workMs,
    kills: kill ? drawKills(tasks) : new Map(),
    tally,
    isOver: watchForTheEnd(crew, options),
  };
  const stalled: Promise<void>[] = [];
  let killed = 0;
  await Promise.all(
    crew.agents.map(async (member, seat) => {
      for (;;) {
        const end = await liveAsAgent(member, seat, workplace);
        if (end === 'work over') return;
        if (end === 'session lost') continue;
        killed += 1;
        // Every second killed agent comes back to life, when it is too late; the first one always.
        if (killed % 2 === 1) stalled.push(wakeStalledWriter(end, workplace.leaseSeconds, tally));
      }
    }),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  await Promise.all(stalled);
  return seconds;
}

/** Work is over when the service itself has no unfinished task of the queue, or nothing has moved for a minute. */
function watchForTheEnd(crew: Crew, { tally, tasks, workMs }: DrainOptions): () => Promise<boolean> {
  const query = new URLSearchParams({
    assigneeId: crew.queueId,
    systemStatusCategory: 'active',
    limit: '1',
  });
  let answer = Promise.resolve(false);
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let movedAtMs = performance.now();
  let movedClaims = 0;
  const ask = async () => {
    const { items } = await crew.operator.client.call<Page<Task>>('GET', `/tasks?${query}`);
    if (items.length > 0) return false;
    // Also those whose agent died before it heard that it had succeeded.
    tally.tasksDone = tasks;
    return true;
  };
  return async () => {
    const nowMs = performance.now();
    if (tally.claims !== movedClaims) {
      movedClaims = tally.claims;
      movedAtMs = nowMs;
    }
    if (nowMs - movedAtMs > standstillMsMax + workMs * 2) return true;
    if (nowMs - askedAtMs > askAgainMs) {
      askedAtMs = nowMs;
      answer = ask();
    }
    return await answer;
  };
}
