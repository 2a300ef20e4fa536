import { queryBuilder } from '@baton/kernel/db';
import { decodeCursor, type Page } from '@baton/kernel/paging';
import { compiled, sql } from '@baton/kernel/sql';
import type { JsonObject } from '@baton/kernel/wire';
import type { Lifecycle } from './lifecycle.ts';

export interface TaskTypeRow {
  id: string;
  tenant_id: string;
  key: string;
  version: number;
  display_name: string;
  description: string;
  field_schema: JsonObject;
  lifecycle_schema: Lifecycle;
  execution: JsonObject | null;
  approval_schema: JsonObject;
  context_schema: JsonObject;
  completion_schema: JsonObject;
  artifact_schema: JsonObject;
  instructions: string;
  acceptance: (JsonObject & { key: string })[];
  status: 'active' | 'deprecated';
  created_by: string;
  created_at: string;
  updated_at: string;
}

export function readTaskType(tenantId: string, id: string) {
  return sql<TaskTypeRow>`
    select * from task_types where id = ${id} and tenant_id = ${tenantId}`;
}

/** One id for a named type; without a version the newest active one, while a named version may be deprecated. */
export function findTaskTypeId(
  tenantId: string,
  { id, key, version }: { id: string | null; key: string; version: number | null },
) {
  return sql<{ id: string }>`
    select id from task_types
    where tenant_id = ${tenantId}
      and case when ${id}::uuid is not null then id = ${id}::uuid
        else key = ${key} and (version = ${version}::integer or (${version}::integer is null and status = 'active')) end
    order by version desc limit 1`;
}

const build = queryBuilder<{ task_types: TaskTypeRow }>();
export const taskTypesNewestFirst = 'task_types';

/** One page and one row more, newest first. */
export function listTaskTypes(
  tenantId: string,
  { key, status }: { key?: string | undefined; status?: TaskTypeRow['status'] | undefined },
  page: Page,
) {
  let query = build
    .selectFrom('task_types')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (key !== undefined) query = query.where('key', '=', key);
  if (status !== undefined) query = query.where('status', '=', status);
  if (page.cursor !== undefined) {
    const [createdAt, id] = decodeCursor(taskTypesNewestFirst, page.cursor, ['timestamp', 'uuid']);
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'id'), '<', tuple(createdAt as string, id as string)),
    );
  }
  return compiled(query);
}
