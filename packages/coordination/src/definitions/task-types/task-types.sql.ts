import { queryBuilder } from '@baton/kernel/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { sql } from '@baton/kernel/sql';
import type { TaskTypeRow } from './task-type.ts';

export function findTaskType(tenantId: string, id: string) {
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

const newestFirst: ListOrder<TaskTypeRow> = {
  cursor: 'task_types',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findTaskTypes(
  tenantId: string,
  filter: { key: string | undefined; status: string | undefined },
  page: Page,
) {
  const query = build.selectFrom('task_types').selectAll().where('tenant_id', '=', tenantId);
  return pageQuery(matching(query, filter), newestFirst, page);
}
