import { undoneOnFailure } from '../../ledger/savepoint.ts';
import { isUnavailable } from '../acts/work-item.ts';
import type { Context } from '../context.ts';

/**
 * Does a part of an evaluation; one that breaks unexpectedly is undone.
 * @returns what broke it, undefined when nothing did
 * @throws what has the whole transaction repeated, and a refusal because a judge outside is away
 */
export async function attempt(
  context: Context,
  act: () => Promise<unknown>,
): Promise<{ error: unknown } | undefined> {
  return undoneOnFailure<{ error: unknown } | undefined>(
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
