import { sql } from '@baton/kernel/database/sql';
import type { TaskRow } from '../tasks/task.ts';

export interface DependencyRow {
  relation_id: string;
  prerequisite_task_id: string;
  waiting_task_id: string;
}

/**
 * The dependencies between tasks of a project, newest first. The relations of each task are found by an index; with a
 * join, the planner might read all relations.
 * @param top the project's own workspace if the projects below it are included, otherwise null
 */
export function findDependencies(
  tenantId: string,
  { projectId, top }: { projectId: string; top: string | null },
  rowsMax: number,
) {
  return sql<DependencyRow>`
    with places as materialized (
      select id from workspaces where ${top}::uuid is null and tenant_id = ${tenantId} and project_id = ${projectId}
      union all
      select id from workspaces where ${top}::uuid is not null and tenant_id = ${tenantId} and path @> array[${top}::uuid]
    ), inside as materialized (
      select t.id from places cross join lateral (
        select id from tasks where coalesce(workspace_id, tenant_id) = places.id offset 0) as t
    )
    select r.id as relation_id, r.prerequisite_task_id, r.waiting_task_id
    from inside cross join lateral (
      select id, prerequisite_task_id, waiting_task_id, created_at from task_relations
      where waiting_task_id = inside.id offset 0) as r
    where r.prerequisite_task_id in (select id from inside)
    order by r.created_at desc, r.id desc limit ${rowsMax}`;
}

export type DependentTaskRow = Pick<
  TaskRow,
  'id' | 'public_id' | 'title' | 'status' | 'category' | 'assignee_id' | 'due_date' | 'workspace_id'
>;

export function findDependentTasks(tenantId: string, ids: readonly string[]) {
  return sql<DependentTaskRow>`
    select id, public_id, title, status, category, assignee_id, due_date, workspace_id from tasks
    where id = any (${ids}::uuid[]) and tenant_id = ${tenantId} order by public_number`;
}
