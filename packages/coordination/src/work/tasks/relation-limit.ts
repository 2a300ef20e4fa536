import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findTaskBeyond, lockRelationsOf } from './tasks.sql.ts';

/**
 * Maximum number of relations of a task, both directions together, because the list is read whole
 * (docs/reference/relations.md#types).
 */
export const relationsMax = 1000;

/**
 * Refuses a relation that was just inserted if a task at either end exceeds the limit. From here to their commits,
 * commands that relate the same task are serialized, so each counts the relations of those before it. Called after
 * the insert, whose triggers lock tasks: a waiting command holds all of its locks, and the one that proceeds takes
 * no others.
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
