/** When in the handling of a task its agent dies: each time with the lease held. */
export type Moment = 'claimed' | 'running' | 'answering';

const moments: readonly Moment[] = ['claimed', 'running', 'answering'];
const share = 0.05;
const killsMin = 3;

/**
 * Draws which claims end in a killing: one of twenty, three at least.
 * @param tasks how many tasks are to be done, and so how many claims there will be at least
 * @returns by the number of the claim, counted from 1 over all agents
 */
export function drawKills(tasks: number, random = Math.random): ReadonlyMap<number, Moment> {
  const kills = new Map<number, Moment>();
  const wanted = Math.min(tasks, Math.max(killsMin, Math.round(tasks * share)));
  while (kills.size < wanted) {
    const claim = 1 + Math.floor(random() * tasks);
    if (!kills.has(claim)) kills.set(claim, moments[Math.floor(random() * moments.length)] as Moment);
  }
  return kills;
}
