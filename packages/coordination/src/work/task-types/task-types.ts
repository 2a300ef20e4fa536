import { cutPage, type Page } from '@baton/kernel/paging';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { TaskType } from './task-types.api.ts';
import { listTaskTypes, readTaskType, type TaskTypeRow, taskTypesNewestFirst } from './task-types.sql.ts';

export const taskTypeStatuses = ['active', 'deprecated'] as const;

/** A page of task types, all versions (core, section 7.2). @throws Refusal `invalid_status`, `invalid_cursor` */
export async function findTaskTypes(
  context: Context,
  { key, status }: { key?: string | undefined; status?: string | undefined },
  page: Page,
): Promise<{ items: TaskType[]; nextCursor: string | null }> {
  const known = taskTypeStatuses.find((name) => name === status);
  if (status !== undefined && known === undefined) fail('invalid_status', { allowed: taskTypeStatuses });
  const rows = await context.db.rows(listTaskTypes(context.tenantId, { key, status: known }, page));
  const { rows: shown, nextCursor } = cutPage(rows, page, taskTypesNewestFirst, (row) => [
    row.created_at,
    row.id,
  ]);
  return { items: shown.map(taskTypeOf), nextCursor };
}

/** @throws Refusal `not_found` */
export async function getTaskType(context: Context, id: string): Promise<TaskType> {
  const row = await context.db.row(readTaskType(context.tenantId, id));
  return row === undefined ? fail('not_found') : taskTypeOf(row);
}

function taskTypeOf(row: TaskTypeRow): TaskType {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    key: row.key,
    version: row.version,
    displayName: row.display_name,
    description: row.description,
    fieldSchema: row.field_schema,
    lifecycleSchema: row.lifecycle_schema,
    execution: row.execution,
    approvalSchema: row.approval_schema,
    contextSchema: row.context_schema,
    completionSchema: row.completion_schema,
    artifactSchema: row.artifact_schema,
    instructions: row.instructions,
    acceptance: row.acceptance,
    status: row.status,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
