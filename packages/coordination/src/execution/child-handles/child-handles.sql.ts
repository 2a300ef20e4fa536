import { sql } from '@baton/kernel/database/sql';
import type { ChildHandleOfParentRow } from '../../leases/children/child-handle-row.ts';
import type { ChildHandleViewRow } from './child-handle.ts';

export function findHandle(tenantId: string, handleId: string) {
  return sql<ChildHandleViewRow>`
    select h.*, t.public_id as child_task_public_id, child_status(h.expires_at, h.revoked_at, t.category, r.status) as status
    from child_handles h join tasks t on t.id = h.child_task_id left join runs r on r.id = h.child_run_id
    where h.id = ${handleId} and h.tenant_id = ${tenantId}`;
}

export function findHandleByCorrelation(tenantId: string, parentRunId: string, correlationId: string) {
  return sql<{ id: string; child_task_id: string }>`
    select id, child_task_id from child_handles
    where parent_run_id = ${parentRunId} and correlation_id = ${correlationId} and tenant_id = ${tenantId}`;
}

/** Lists a run's handles after a position, in the order of creation. */
export function findHandles(of: {
  tenantId: string;
  parentRunId: string;
  /** True: only active children; false: only the others. */
  active: boolean | null;
  after: { createdAt: string; id: string };
  rowsMax: number;
}) {
  return sql<ChildHandleViewRow>`
    select h.* from (
      select h.*, t.public_id as child_task_public_id, child_status(h.expires_at, h.revoked_at, t.category, r.status) as status
      from child_handles h join tasks t on t.id = h.child_task_id left join runs r on r.id = h.child_run_id
      where h.parent_run_id = ${of.parentRunId} and h.tenant_id = ${of.tenantId}
        and (h.created_at, h.id) > (${of.after.createdAt}::timestamptz, ${of.after.id}::uuid)
    ) h
    where ${of.active}::boolean is null or ${of.active} = (h.status in ('pending', 'running', 'suspended'))
    order by h.created_at, h.id limit ${of.rowsMax}`;
}

/** Lists the capability names of a principal and its enabled skills, in alphabetical order. */
export function findAssigned(tenantId: string, principalId: string, namesMax: number) {
  return sql<{ capabilities: string[]; skills: string[] }>`
    select array(
        select c.name from capability_assignments a join capabilities c on c.id = a.capability_id
        where a.principal_id = ${principalId} and a.tenant_id = ${tenantId}
        order by c.name limit ${namesMax}
      ) as capabilities,
      array(
        select s.name || '@' || s.version from skill_assignments a join skills s on s.id = a.skill_id
        where a.principal_id = ${principalId} and a.tenant_id = ${tenantId} and s.status <> 'disabled'
        order by s.name, s.version limit ${namesMax}
      ) as skills`;
}

export interface NewHandle {
  id: string;
  tenantId: string;
  parentRunId: string;
  parentTaskId: string;
  childTaskId: string;
  correlationId: string;
  secretHash: string;
  permissions: readonly string[];
  capabilities: readonly string[];
  skills: readonly string[];
  cancellationPolicy: string;
  depth: number;
  expiresInSeconds: number;
}

/** Inserts a handle and stores its id with the task. */
export function insertHandle(handle: NewHandle) {
  return sql<object>`
    with launched as (
      update tasks set child_handle_id = ${handle.id} where id = ${handle.childTaskId} and tenant_id = ${handle.tenantId}
      returning id
    )
    insert into child_handles (id, tenant_id, parent_run_id, parent_task_id, child_task_id, correlation_id, secret_hash,
      permissions, capabilities, skills, cancellation_policy, depth, expires_at)
    select ${handle.id}, ${handle.tenantId}, ${handle.parentRunId}, ${handle.parentTaskId}, launched.id,
      ${handle.correlationId}, ${handle.secretHash}, ${handle.permissions}, ${handle.capabilities}, ${handle.skills},
      ${handle.cancellationPolicy}, ${handle.depth}, clock_timestamp() + make_interval(secs => ${handle.expiresInSeconds})
    from launched`;
}

/** Locks the task of a handle's child, so that no run of it can start. */
export function lockChildTask(tenantId: string, taskId: string) {
  return sql<object>`select from tasks where id = ${taskId} and tenant_id = ${tenantId} for no key update`;
}

/** Locks the run that a handle is bound to. Must be called before the handle is locked. */
export function lockChildRun(tenantId: string, handleId: string) {
  return sql<{ id: string }>`
    select r.id from child_handles h join runs r on r.id = h.child_run_id
    where h.id = ${handleId} and h.tenant_id = ${tenantId}
    for no key update of r`;
}

/** Returns no row if the handle is already revoked. */
export function updateHandleToRevoked(tenantId: string, handleId: string, reason: string) {
  return sql<ChildHandleOfParentRow>`
    with revoked as (
      update child_handles
      set revoked_at = clock_timestamp(), revoke_reason = ${reason}, handle_version = handle_version + 1
      where id = ${handleId} and tenant_id = ${tenantId} and revoked_at is null
      returning *
    )
    select revoked.*, t.workspace_id as parent_workspace_id
    from revoked join tasks t on t.id = revoked.parent_task_id`;
}
