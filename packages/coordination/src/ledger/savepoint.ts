import { isUnreachable } from '@baton/kernel/database/db';
import { isRepeatable, NeedsAnswer } from '@baton/kernel/http/command';
import type { Context } from './context.ts';
import { beginPart, keepPart, undoPart } from './savepoint.sql.ts';

/**
 * Does a part of a command so that its failure undoes what it wrote, its events included, and nothing before it. The
 * command goes on in the same transaction. Only an unreachable store, and what wants the whole command repeated, are
 * thrown. The two statements around the part are sent along with others: they cost no round trip.
 * @param instead what is answered for a failure, after it was undone
 */
export async function undoneOnFailure<T>(
  { db, drafts, afterCommit }: Context,
  act: () => Promise<T>,
  instead: (error: unknown) => T,
): Promise<T> {
  const [draftCount, actCount] = [drafts.length, afterCommit.length];
  const begun = sentAlong(db.run(beginPart()));
  try {
    const result = await act();
    await begun;
    void sentAlong(db.run(keepPart()));
    return result;
  } catch (error) {
    if (isUnreachable(error) || isRepeatable(error) || error instanceof NeedsAnswer) throw error;
    await db.run(undoPart());
    // What was undone still hides an outer part, which would then be undone only up to here.
    void sentAlong(db.run(keepPart()));
    drafts.splice(draftCount);
    afterCommit.splice(actCount);
    return instead(error);
  }
}

/** If it fails, so does what is sent behind it, COMMIT too: its own rejection must not end the process as unhandled. */
function sentAlong<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined);
  return answer;
}
