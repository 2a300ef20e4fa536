import { rulesOf } from '../../../definitions/task-types/type-rules.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { emptiesField, type FieldChange, findSkippedChecks, requireMayRemove } from './protection.ts';
import { findSpawnedTasks } from './spawned-tasks.sql.ts';

/**
 * The maximum number of spawned tasks that are read, because each task's documents can have up to 1 MB. If there are
 * more, only a person may empty a field of the spawning task.
 */
const tasksMax = 50;

/**
 * Refuses a change to a task that would skip checks of the tasks that it spawned; their conditions read it as
 * `$.spawnedBy`. Only a change that empties a field can have this effect.
 * @throws Refusal `acceptance_protected` {keys}
 */
export async function requireSpawnedChecksStay(
  context: Context,
  taskId: string,
  change: FieldChange,
): Promise<void> {
  if (!emptiesField(change)) return;
  const { db, tenantId, caller } = context;
  const found = await db.rows(findSpawnedTasks(tenantId, taskId, tasksMax + 1));
  if (found.length > tasksMax && caller.kind !== 'human') fail('acceptance_protected', { keys: [] });
  for (const { id, type_id: typeId, acceptance } of found.slice(0, tasksMax)) {
    const rules = await rulesOf(context, typeId);
    await requireMayRemove(context, id, await findSkippedChecks(rules, acceptance, change, 'spawnedBy'));
  }
}
