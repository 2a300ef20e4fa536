import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { requireAddressee } from '../tasks/addressees/addressees.ts';
import { type Task, type TaskRow, taskOf } from '../tasks/task.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import { lockTaskRow } from '../tasks/tasks.ts';
import { taskMadeAvailable } from './make-available.events.ts';
import { updateTaskToAvailable } from './make-available.sql.ts';

/**
 * Ends a task's pause after failed attempts and resets the count of failures. Its start and its status don't change.
 * Without a pause, nothing changes. Limited to the addressee, because other callers could otherwise prevent the task of
 * a process step from ever being blocked.
 * @throws Refusal `not_found`, `not_eligible`
 */
export async function makeTaskAvailable(context: Context, ref: TaskRef): Promise<Task> {
  const { db, tenantId } = context;
  const before = await lockTaskRow(context, ref);
  await requireAddressee(context, before);
  if (before.failed_attempts === 0 && before.retry_at === null) return taskOf(before);
  const row = (await db.row(updateTaskToAvailable(tenantId, before.id))) as TaskRow;
  emit(
    context,
    taskMadeAvailable,
    { entityId: row.id, workspaceId: row.workspace_id },
    {
      publicId: row.public_id,
      failedAttempts: before.failed_attempts,
      availableAt: row.available_at,
      version: row.version,
    },
  );
  return taskOf(row);
}
