import type { PageQuery } from '@baton/kernel/database/list';
import { type Statement, sql } from '@baton/kernel/database/sql';
import type { TaskRow } from '../tasks/task.ts';
import type { WorkspaceScope } from '../tasks/task-fields.ts';

/** A task in the scope, and its position in the scan, counted from 1. */
export interface PassedRow {
  readonly id: string;
  readonly passed: number;
  readonly is_within: boolean;
}

/**
 * The first tasks of a page that are within a scope, plus the page's last row, in the scope or not: its presence means
 * that more may follow. The scan stops once enough are found.
 * @param how whether the workspaces of the scope are read once and cached, or each task's workspace is looked up by its
 * id, at 2.5 µs per task
 */
export function findWithin(
  { statement: { text, values }, page: { limit } }: PageQuery<TaskRow>,
  { within, itself, projectId }: WorkspaceScope,
  rowsWanted: number,
  how: 'remembered' | 'looked up',
): Statement<PassedRow> {
  const [above, only, project, last, wanted] = [1, 2, 3, 4, 5].map((n) => `$${values.length + n}`);
  const isWithin = `w.path @> ${above}::uuid[] and (${only}::uuid is null or w.id = ${only}::uuid)
            and (${project}::uuid is null or w.project_id = ${project}::uuid)`;
  const judged =
    how === 'remembered'
      ? `found.workspace_id in (select w.id from workspaces w where ${isWithin})`
      : `(select ${isWithin} from workspaces w where w.id = found.workspace_id)`;
  return {
    text: `
      select id, passed, is_within from (
        select found.id, row_number() over ()::integer as passed, coalesce(${judged}, false) as is_within
        from (${text}) as found
      ) as passed_by
      where passed = ${last} or is_within
      limit ${wanted}`,
    values: [...values, within, itself, projectId, limit + 1, rowsWanted],
  };
}

/** The ids of a page; no other columns of its tasks are read. */
export function findIdsOf({ statement: { text, values } }: PageQuery<TaskRow>): Statement<{ id: string }> {
  return { text: `select id from (${text}) as found`, values };
}

/** The number of workspaces in a scope; counting stops after `rowsMax`. */
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
