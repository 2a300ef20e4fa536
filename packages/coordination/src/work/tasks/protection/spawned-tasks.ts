import { rulesOf } from '../../../definitions/task-types/type-rules.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { emptiesField, type FieldChange, requireMayTakeAway, silencedChecks } from './protection.ts';
import { findSpawnedTasks } from './spawned-tasks.sql.ts';

/** A task's documents have up to 1 MB: beyond so many, nobody but a person empties a field of the task that they came from. */
const tasksMax = 50;

/**
 * Refuses a change of a task that would have checks skipped of tasks that came from it: their conditions read it as
 * `$.spawnedBy`. Only a change that empties a field can.
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
    await requireMayTakeAway(context, id, await silencedChecks(rules, acceptance, change, 'spawnedBy'));
  }
}
