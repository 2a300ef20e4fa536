import { isUnreachable } from '@baton/kernel/database/db';
import { isRepeatable, NeedsAnswer } from '@baton/kernel/http/command';
import type { Context } from './context.ts';
import { beginPart, keepPart, undoPart } from './savepoint.sql.ts';

/**
 * Runs part of a command. If that part fails, its own writes are rolled back, including its events, but nothing before
 * it, and the command continues in the same transaction. Only an unreachable store, and errors after which the whole
 * command is retried, are thrown. The two statements around the part are pipelined with others, so they cost no round
 * trip.
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
    // After the rollback, this savepoint still exists and would hide an outer one, to which the command could then no
    // longer roll back. So this savepoint is released.
    void sentAlong(db.run(keepPart()));
    drafts.splice(draftCount);
    afterCommit.splice(actCount);
    return instead(error);
  }
}

/**
 * If this statement fails, the ones after it fail, too, including COMMIT, so its own rejection must not end the
 * process.
 */
function sentAlong<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined);
  return answer;
}
