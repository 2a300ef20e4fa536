/**
 * The moment at which an agent is killed, while it holds a lease: after its claim, at the end of its work, or while it
 * reports success.
 */
export type KillPoint = 'claimed' | 'running' | 'reporting';

const killPoints: readonly KillPoint[] = ['claimed', 'running', 'reporting'];
const share = 0.05;
const killsMin = 3;

/**
 * Chooses at random the claims whose agent is killed: 5 % of them, at least three.
 * @param tasks the number of tasks, which is the minimum number of claims
 * @returns the moment of each kill, keyed by the claim's number, counted from 1 across all agents
 */
export function planKills(tasks: number, random = Math.random): ReadonlyMap<number, KillPoint> {
  const kills = new Map<number, KillPoint>();
  const wanted = Math.min(tasks, Math.max(killsMin, Math.round(tasks * share)));
  while (kills.size < wanted) {
    const claim = 1 + Math.floor(random() * tasks);
    if (!kills.has(claim))
      kills.set(claim, killPoints[Math.floor(random() * killPoints.length)] as KillPoint);
  }
  return kills;
}
