import { sql } from '@baton/kernel/database/sql';
import type { TaskRelationRow } from './task-relation.ts';

/**
 * Lets one command of the tenant at a time add relations that could close a cycle, until its commit. An advisory lock:
 * it is taken in memory, and the tenant's own row, which every insert of the tenant refers to, stays untouched. Two
 * tenants with the same hash of 64 bits would only wait for each other.
 */
export function lockRelationGraph(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`task_relations/${tenantId}`}, 0))`;
}

export function findRelation(tenantId: string, fromTaskId: string, toTaskId: string, type: string) {
  return sql<{ id: string }>`
    select id from task_relations
    where from_task_id = ${fromTaskId} and to_task_id = ${toTaskId} and type = ${type} and tenant_id = ${tenantId}`;
}

/**
 * Whether `taskId` is an ancestor of `fromTaskId`, or that task itself. Each task is visited once, so the walk ends even
 * in a graph that had a cycle.
 *
 * The sub-select in an array makes it one look into the index per task. As a join, the planner takes a table that it has
 * no figures of yet for one worth reading whole at every step: 17 s instead of 30 ms for a chain of 10,000.
 */
export function isAncestor(tenantId: string, taskId: string, fromTaskId: string) {
  return sql<{ found: boolean }>`
    with recursive ancestors (id) as (
      select ${fromTaskId}::uuid
      union
      select unnest(array(
        select to_task_id from task_relations
        where from_task_id = ancestors.id and type = 'parent' and tenant_id = ${tenantId}))
      from ancestors
    )
    select exists (select from ancestors where id = ${taskId}) as found`;
}

/** Whether `fromTaskId` waits for `taskId`, at whatever distance, or is that task itself; walks as `isAncestor` does. */
export function isPrerequisite(tenantId: string, taskId: string, fromTaskId: string) {
  return sql<{ found: boolean }>`
    with recursive prerequisites (id) as (
      select ${fromTaskId}::uuid
      union
      select unnest(array(
        select prerequisite_task_id from task_relations
        where waiting_task_id = prerequisites.id and tenant_id = ${tenantId}))
      from prerequisites
    )
    select exists (select from prerequisites where id = ${taskId}) as found`;
}

/** No row when the relation exists. */
export function insertRelation(relation: {
  id: string;
  tenantId: string;
  fromTaskId: string;
  toTaskId: string;
  type: string;
  createdBy: string;
}) {
  return sql<TaskRelationRow>`
    insert into task_relations (id, tenant_id, from_task_id, to_task_id, type, created_by)
    values (${relation.id}, ${relation.tenantId}, ${relation.fromTaskId}, ${relation.toTaskId}, ${relation.type},
      ${relation.createdBy})
    on conflict (from_task_id, to_task_id, type) do nothing
    returning *`;
}

/** Both directions in one list, each read by its own index. */
export function findRelations(tenantId: string, taskId: string) {
  return sql<TaskRelationRow>`
    select * from task_relations where from_task_id = ${taskId} and tenant_id = ${tenantId}
    union all
    select * from task_relations where to_task_id = ${taskId} and tenant_id = ${tenantId}
    order by created_at, id`;
}

export function findRelationOf(tenantId: string, taskId: string, id: string) {
  return sql<TaskRelationRow>`
    select * from task_relations
    where id = ${id} and tenant_id = ${tenantId} and ${taskId} in (from_task_id, to_task_id)`;
}

/** Keeps a task from being changed until the commit. */
export function shareTask(tenantId: string, taskId: string) {
  return sql`select from tasks where id = ${taskId} and tenant_id = ${tenantId} for share`;
}

export function deleteRelation(tenantId: string, taskId: string, id: string) {
  return sql<TaskRelationRow>`
    delete from task_relations
    where id = ${id} and tenant_id = ${tenantId} and ${taskId} in (from_task_id, to_task_id)
    returning *`;
}
