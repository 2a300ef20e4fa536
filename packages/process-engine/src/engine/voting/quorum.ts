import type { Quorum } from '../../language/step.ts';

export type Vote = 'pending' | 'approved' | 'rejected' | 'left';
export type QuorumEnd = 'approved' | 'rejected';
export type QuorumReason = 'quorum_reached' | 'quorum_unreachable' | 'no_approvers' | 'all_voted';

/**
 * The number of `voters` that must approve (docs/reference/processes.md#votes); for a percentage p of N voters, max(1,
 * ⌈p·N/100⌉).
 */
export function approvalsNeeded(quorum: Quorum, voters: number): number {
  if (quorum === 'all') return voters;
  if (quorum === 'any') return 1;
  if ('atLeast' in quorum) return quorum.atLeast;
  return Math.max(1, Math.ceil((quorum.percent * voters) / 100));
}

/**
 * The result of a vote. Voters who left are removed, and the quorum is computed again from those who
 * remain.
 * @param early whether the vote ends as soon as the result is certain; otherwise it ends when all have voted
 * @returns undefined while the vote continues
 */
export function resultOf(
  votes: readonly Vote[],
  quorum: Quorum,
  early: boolean,
): { outcome: QuorumEnd; reason: QuorumReason } | undefined {
  const count = (wanted: Vote) => votes.filter((vote) => vote === wanted).length;
  const [approved, pending] = [count('approved'), count('pending')];
  const voters = votes.length - count('left');
  if (voters === 0) return { outcome: 'rejected', reason: 'no_approvers' };
  const needed = approvalsNeeded(quorum, voters);
  if (pending === 0)
    return approved >= needed
      ? { outcome: 'approved', reason: 'all_voted' }
      : { outcome: 'rejected', reason: needed > voters ? 'quorum_unreachable' : 'all_voted' };
  if (!early) return undefined;
  if (approved >= needed) return { outcome: 'approved', reason: 'quorum_reached' };
  return approved + pending < needed ? { outcome: 'rejected', reason: 'quorum_unreachable' } : undefined;
}
