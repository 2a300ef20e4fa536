import { isRepeatable } from '@baton/kernel/command';
import { isUnreachable } from '@baton/kernel/db';
import type { Context } from './context.ts';
import { beginPart, keepPart, undoPart } from './savepoint.sql.ts';

/**
 * Does a part of a command so that its failure undoes what it wrote, its events included, and nothing before it. The
 * command goes on in the same transaction. Only an unreachable store, and one that wants the whole command repeated, are
 * thrown.
 * @param instead what is answered for a failure, after it was undone
 */
export async function undoneOnFailure<T>(
  { db, drafts, afterCommit }: Context,
  act: () => Promise<T>,
  instead: (error: unknown) => T,
): Promise<T> {
  const [draftCount, actCount] = [drafts.length, afterCommit.length];
  await db.run(beginPart());
  try {
    const result = await act();
    await db.run(keepPart());
    return result;
  } catch (error) {
    if (isUnreachable(error) || isRepeatable(error)) throw error;
    await db.run(undoPart());
    drafts.splice(draftCount);
    afterCommit.splice(actCount);
    return instead(error);
  }
}
