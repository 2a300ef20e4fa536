import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findTaskBeyond, lockRelationsOf } from './tasks.sql.ts';

/** How many relations a task has at most, both directions together: they are read whole (core, section 23, W30). */
export const relationsMax = 1000;

/**
 * Refuses a relation that was just written where it is one too many for a task at either end. Commands that relate the
 * same task come one after another from here to their commits, so each counts those before it. This comes after the
 * write, whose triggers lock tasks: who waits here waits with all of its locks, and who goes on takes no other.
 * @throws Refusal `invalid_relation` with `taskId` and `maxRelations`
 */
export async function refuseBeyondLimit(
  { db, tenantId }: Context,
  ...taskIds: readonly string[]
): Promise<void> {
  const inOrder = taskIds.toSorted();
  await db.run(lockRelationsOf(inOrder));
  const beyond = await db.row(findTaskBeyond(tenantId, inOrder, relationsMax));
  if (beyond !== undefined) fail('invalid_relation', { taskId: beyond.id, maxRelations: relationsMax });
}
