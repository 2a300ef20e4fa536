import type { PageQuery } from '@baton/kernel/list';
import { type Statement, sql } from '@baton/kernel/sql';
import type { WorkspaceScope } from '../tasks/task-fields.ts';

/** A row that a search came by, and which one it was, counted from 1. */
export type Passed<Row> = Row & { readonly passed: number; readonly is_within: boolean };

/**
 * The first rows of a page that are filed within a scope, and the last row of the page whether or not: with it, there may be
 * more. Each row's workspace is looked up by its id, so no more is read than it takes to find so many.
 */
export function findWithin<Row>(
  { statement: { text, values }, page: { limit } }: PageQuery<Row>,
  { within, itself, projectId }: WorkspaceScope,
  rowsWanted: number,
): Statement<Passed<Row>> {
  const [above, only, project, last, wanted] = [1, 2, 3, 4, 5].map((n) => `$${values.length + n}`);
  return {
    text: `
      select * from (
        select found.*, row_number() over ()::integer as passed, coalesce((
          select w.path @> ${above}::uuid[] and (${only}::uuid is null or w.id = ${only}::uuid)
            and (${project}::uuid is null or w.project_id = ${project}::uuid)
          from workspaces w where w.id = found.workspace_id), false) as is_within
        from (${text}) as found
      ) as passed_by
      where passed = ${last} or is_within
      limit ${wanted}`,
    values: [...values, within, itself, projectId, limit + 1, rowsWanted],
  };
}

/**
 * Whether a scope has no more than so many workspaces, those of other projects included: level by level by the index of
 * parents, which ends with the first one too many.
 */
export function hasFewWorkspaces(tenantId: string, { within }: WorkspaceScope, workspacesMax: number) {
  return sql<{ has_few: boolean }>`
    with recursive below as (
      select id from workspaces where tenant_id = ${tenantId} and id = any (${within}::uuid[]) and path @> ${within}::uuid[]
      union all
      select w.id from below cross join lateral (select id from workspaces where parent_id = below.id offset 0) w
    )
    select count(*) <= ${workspacesMax}::integer as has_few
    from (select from below limit ${workspacesMax}::integer + 1) as counted`;
}

/** How many workspaces a scope has; more than `rowsMax` are not counted. */
export function countWorkspaces(
  tenantId: string,
  { within, itself, projectId }: WorkspaceScope,
  rowsMax: number,
) {
  return sql<{ workspaces: number }>`
    select count(*)::integer as workspaces from (
      select from workspaces
      where tenant_id = ${tenantId} and path @> ${within}::uuid[] and (${itself}::uuid is null or id = ${itself}::uuid)
        and (${projectId}::uuid is null or project_id = ${projectId}::uuid)
      limit ${rowsMax}
    ) as counted`;
}
