import type { Ballot } from './interpreter-parts.ts';
import type { StepSpec } from './random-definitions.ts';

type Quorum = NonNullable<StepSpec['approve']>['quorum'];
/** The required number of votes (docs/reference/processes.md#votes). */
function neededOf(quorum: Quorum, voters: number): number {
  if (quorum === 'all') return voters;
  if (quorum === 'any') return 1;
  return 'atLeast' in quorum ? quorum.atLeast : Math.max(1, Math.ceil((voters * quorum.percent) / 100));
}

/** The result of a vote; undefined while it continues. */
export function resultOf(
  votes: readonly Ballot[],
  { quorum, earlyDecision }: NonNullable<StepSpec['approve']>,
): { outcome: 'approved' | 'rejected'; reason: string } | undefined {
  const staying = votes.filter(({ vote }) => vote !== 'left');
  const number = (wanted: string) => staying.filter(({ vote }) => vote === wanted).length;
  const [yes, pending] = [number('approved'), number('pending')];
  const needs = neededOf(quorum, staying.length);
  const isSettled = yes >= needs || yes + pending < needs;
  if (staying.length > 0 && pending > 0 && (earlyDecision === false || !isSettled)) return undefined;
  const outcome = staying.length > 0 && yes >= needs ? 'approved' : 'rejected';
  if (staying.length === 0) return { outcome, reason: 'no_approvers' };
  if (needs > staying.length || (pending > 0 && outcome === 'rejected'))
    return { outcome, reason: 'quorum_unreachable' };
  return { outcome, reason: pending === 0 ? 'all_voted' : 'quorum_reached' };
}
