/** Why a lease has ended, in the journal, where it was ended in the console. */
export const endReasons = { givenBack: 'given back in the console', ended: 'ended in the console' };

/** Reasons that are the holder's own act where the holder has ended the lease: finished it, cancelled it, or took it away. */
const ownReasons: readonly (string | null)[] = ['completed', 'task_cancelled', endReasons.ended];

/**
 * Whether the holder has ended a lease, so that nothing was lost.
 * @param by who has ended it: null for nobody, undefined where this person may not know
 */
export function isOwnEnd(reason: string | null, by: string | null | undefined, me: string): boolean {
  if (reason === endReasons.givenBack) return true;
  return by === me ? ownReasons.includes(reason) : reason === 'completed' && (by ?? me) === me;
}
