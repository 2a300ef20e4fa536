import { isUnreachable } from '@baton/kernel/database/db';
import { isRepeatable, NeedsAnswer } from '@baton/kernel/http/command';
import type { Context } from './context.ts';
import { beginPart, keepPart, undoPart } from './savepoint.sql.ts';

/**
 * Runs a part of a command whose failure rolls back its own writes, including its events, and nothing before it. The
 * command continues in the same transaction. Only an unreachable store, and errors after which the whole command is
 * retried, are thrown. The two statements around the part are pipelined with others: they cost no round trip.
 * @param instead the result after a failure that was rolled back
 */
export async function undoOnFailure<T>(
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
    // A rolled-back savepoint still hides an outer one, which would then be rolled back only up to here.
    void sentAlong(db.run(keepPart()));
    drafts.splice(draftCount);
    afterCommit.splice(actCount);
    return instead(error);
  }
}

/** If it fails, so do the statements after it, including COMMIT: its own rejection must not end the process. */
function sentAlong<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined);
  return answer;
}
