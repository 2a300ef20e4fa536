import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findTaskBeyond, lockRelationsOf } from './tasks.sql.ts';

/**
 * The maximum number of relations of a task, in both directions together. The number is limited because a task's list
 * of relations is read as a whole (docs/reference/relations.md#types).
 */
export const relationsMax = 1000;

/**
 * Refuses a relation that was just inserted if a task at either end exceeds the limit. From here until they commit,
 * commands that relate the same task run one after another, so each counts the relations of those before it. Called
 * after the insert, whose triggers lock tasks: by then a waiting command holds all of its locks, and the one that
 * proceeds takes no others.
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
