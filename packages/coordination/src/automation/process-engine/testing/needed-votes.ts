import type { StepSpec } from './random-definitions.ts';

type Quorum = NonNullable<StepSpec['approve']>['quorum'];
/** How many must agree (organisation, section 15.4). */
export function neededOf(quorum: Quorum, voters: number): number {
  if (quorum === 'all') return voters;
  if (quorum === 'any') return 1;
  return 'atLeast' in quorum ? quorum.atLeast : Math.max(1, Math.ceil((voters * quorum.percent) / 100));
}
