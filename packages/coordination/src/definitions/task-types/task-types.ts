import { type ItemPage, listPage } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type TaskType, taskTypeOf, taskTypeStatuses } from './task-type.ts';
import { findTaskType, findTaskTypes } from './task-types.sql.ts';

/** A page of task types, all versions (core, section 7.2). @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listTaskTypes(
  { db, tenantId }: Context,
  { key, status }: { key?: string; status?: string },
  page: Page,
): Promise<ItemPage<TaskType>> {
  if (status !== undefined && !taskTypeStatuses.some((known) => known === status))
    fail('invalid_status', { allowed: taskTypeStatuses });
  return listPage(db, findTaskTypes(tenantId, { key, status }, page), taskTypeOf);
}

/** @throws Refusal `not_found` */
export async function getTaskType({ db, tenantId }: Context, id: string): Promise<TaskType> {
  const row = await db.row(findTaskType(tenantId, id));
  return row === undefined ? fail('not_found') : taskTypeOf(row);
}
