import { cutPage, decodeCursor, type Page } from '@baton/kernel/paging';
import type { Context } from '../context.ts';
import { type Task, taskOf } from '../tasks/task.ts';
import { requireNoProject, requireNoWorkspace } from '../tasks/task-fields.ts';
import { readAssignedWork, readAvailableWork, type WorkPosition } from './available.sql.ts';

export interface WorkQuery {
  workspaceId?: string | undefined;
  projectId?: string | undefined;
  assigneeId?: string | undefined;
  assignedToMe?: boolean | undefined;
}

const workOrder = 'work';
/** Before the first task of all. */
const start: WorkPosition = {
  priority: -1,
  createdAt: '-infinity',
  id: '00000000-0000-0000-0000-000000000000',
};

/**
 * A page of the work that could be claimed now (core, section 6.5). Nothing is locked: a rival may be quicker.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function findAvailableWork(
  context: Context,
  query: WorkQuery,
  page: Page,
): Promise<{ items: Task[]; nextCursor: string | null }> {
  requireNoWorkspace(query.workspaceId);
  requireNoProject(query.projectId);
  const { tenantId, caller, db } = context;
  const after = page.cursor === undefined ? start : positionOf(page.cursor);
  const assigneeId = query.assignedToMe === true ? caller.principalId : query.assigneeId;
  const rows = await db.rows(
    assigneeId === undefined
      ? readAvailableWork(tenantId, after, page.limit + 1)
      : readAssignedWork(tenantId, assigneeId, after, page.limit + 1),
  );
  const { rows: shown, nextCursor } = cutPage(rows, page, workOrder, (row) => [
    row.priority,
    row.created_at,
    row.id,
  ]);
  return { items: shown.map(taskOf), nextCursor };
}

function positionOf(cursor: string): WorkPosition {
  const [priority, createdAt, id] = decodeCursor(workOrder, cursor, ['integer', 'timestamp', 'uuid']);
  return { priority: priority as number, createdAt: createdAt as string, id: id as string };
}
