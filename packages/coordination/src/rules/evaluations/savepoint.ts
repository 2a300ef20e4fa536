import { undoOnFailure } from '../../ledger/savepoint.ts';
import { isUnavailable } from '../acts/work-item.ts';
import type { Context } from '../context.ts';

/**
 * Runs a part of an evaluation in a savepoint and rolls it back if it fails unexpectedly.
 * @returns the unexpected error, undefined on success
 * @throws errors that restart the whole transaction, and a refusal because external authorization is unavailable
 */
export async function runInSavepoint(
  context: Context,
  act: () => Promise<unknown>,
): Promise<{ error: unknown } | undefined> {
  return undoOnFailure<{ error: unknown } | undefined>(
    context,
    async () => {
      await act();
      return undefined;
    },
    (error) => {
      if (isUnavailable(error)) throw error;
      return { error };
    },
  );
}
