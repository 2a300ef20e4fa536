/** The release reasons of the console, recorded in the journal. */
export const endReasons = { givenBack: 'given back in the console', ended: 'ended in the console' };

/** Reasons that don't count as a loss if the holder caused them: the task was completed, cancelled or released. */
const ownReasons: readonly (string | null)[] = ['completed', 'task_cancelled', endReasons.ended];

/**
 * Whether the holder ended the claim, so that it was not lost.
 * @param by the principal that ended it: null if it expired, undefined if this person may not read it
 */
export function isOwnEnd(reason: string | null, by: string | null | undefined, me: string): boolean {
  if (reason === endReasons.givenBack) return true;
  return by === me ? ownReasons.includes(reason) : reason === 'completed' && (by ?? me) === me;
}
