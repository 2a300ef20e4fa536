import { type Statement, sql } from '@baton/kernel/database/sql';

type Sight = Statement<{ sees: boolean }>;
/** Whether the viewer sees an object; returns no row if the tenant has no object with this id. */
export type FindSight = (tenantId: string, viewerId: string, id: string) => Sight;

/** Keyed by the path of the objects. */
export const sightOf: Readonly<Record<string, FindSight>> = {
  '/tasks/{ref}': (tenantId, viewerId, id) => sql`
    select sees_workspace(${viewerId}, workspace_id) as sees from tasks where id = ${id} and tenant_id = ${tenantId}`,
  '/sessions/{id}': (tenantId, viewerId, id) => sql`
    select sees_session(${viewerId}, id) as sees from sessions where id = ${id} and tenant_id = ${tenantId}`,
  '/claims/{id}': (tenantId, viewerId, id) => sql`
    select sees_task(${viewerId}, task_id) as sees from claims where id = ${id} and tenant_id = ${tenantId}`,
  '/runs/{id}': (tenantId, viewerId, id) => sql`
    select sees_task(${viewerId}, task_id) as sees from runs where id = ${id} and tenant_id = ${tenantId}`,
  '/approvals/{id}': (tenantId, viewerId, id) => sql`
    select case when task_id is null then sees_workspace(${viewerId}, workspace_id)
      else sees_task(${viewerId}, task_id) end as sees
    from approvals where id = ${id} and tenant_id = ${tenantId}`,
  '/artifacts/{id}': (tenantId, viewerId, id) => sql`
    select case when task_id is null then sees_workspace(${viewerId}, workspace_id)
      else sees_task(${viewerId}, task_id) end as sees
    from artifacts where id = ${id} and tenant_id = ${tenantId}`,
  '/skill-invocations/{id}': (tenantId, viewerId, id) => sql`
    select case when task_id is null then sees_workspace(${viewerId}, workspace_id)
      else sees_task(${viewerId}, task_id) end as sees
    from skill_invocations where id = ${id} and tenant_id = ${tenantId}`,
  '/child-handles/{id}': (tenantId, viewerId, id) => sql`
    select sees_task(${viewerId}, parent_task_id) as sees from child_handles where id = ${id} and tenant_id = ${tenantId}`,
  '/roles/{id}': (tenantId, viewerId, id) => sql`
    select sees_workspace(${viewerId}, workspace_id) as sees from roles where id = ${id} and tenant_id = ${tenantId}`,
  '/external-references/{id}': (tenantId, viewerId, id) => sql`
    select case when entity_type = 'task' then sees_task(${viewerId}, entity_id)
      else sees_workspace(${viewerId}, (select workspace_id from projects where id = entity_id)) end as sees
    from external_references where id = ${id} and tenant_id = ${tenantId}`,
  '/goals/{id}': (tenantId, viewerId, id) => sql`
    select sees_workspace(${viewerId}, workspace_id) as sees from goals where id = ${id} and tenant_id = ${tenantId}`,
  '/projects/{id}': (tenantId, viewerId, id) => sql`
    select sees_workspace(${viewerId}, workspace_id) as sees from projects where id = ${id} and tenant_id = ${tenantId}`,
  '/rules/{id}': (tenantId, viewerId, id) => sql`
    select sees_workspace(${viewerId}, workspace_id) as sees from rules where id = ${id} and tenant_id = ${tenantId}`,
  '/rule-evaluations/{id}': (tenantId, viewerId, id) => sql`
    select sees_workspace(${viewerId}, workspace_id) as sees from rule_evaluations where id = ${id} and tenant_id = ${tenantId}`,
  '/process-instances/{id}': (tenantId, viewerId, id) => sql`
    select sees_workspace(${viewerId}, workspace_id) as sees from process_instances where id = ${id} and tenant_id = ${tenantId}`,
  '/context-packs/{id}': (tenantId, viewerId, id) => sql`
    select sees_task(${viewerId}, task_id) as sees from context_packs where id = ${id} and tenant_id = ${tenantId}`,
  // The reference is the key or key@revision.
  '/agents/{key}': (tenantId, viewerId, ref) => sql`
    select sees_workspace(${viewerId}, workspace_id) as sees from agents
    where tenant_id = ${tenantId} and key = split_part(${ref}, '@', 1)`,
  '/workspaces/{id}': (tenantId, viewerId, id) => sql`
    select sees_workspace(${viewerId}, id) as sees from workspaces where id = ${id} and tenant_id = ${tenantId}`,
};

/** The task with a public number. */
export function findTaskSight(tenantId: string, viewerId: string, publicNumber: number | string): Sight {
  return sql`
    select sees_workspace(${viewerId}, workspace_id) as sees from tasks
    where public_number = ${publicNumber}::bigint and tenant_id = ${tenantId}`;
}
