import { part, sql } from '@baton/kernel/database/sql';
import type { InvocationRow } from '../../leases/invocations/invocation-row.ts';

/** An executor, and the calls that it can execute; null means no restriction. */
export interface ExecutorReach {
  principalId: string;
  protocols: readonly string[];
  localEntrypoints: readonly string[] | null;
  httpOrigins: readonly string[] | null;
  mcpEndpoints: readonly string[] | null;
  audiences: readonly string[] | null;
  /** Only this call. */
  invocationId: string | null;
}

/** The permissions that the binding determines if a decision point decides the others; null for all. */
export type NamesOfBindings = readonly string[] | null;

/** The fields from which the permissions of a call are evaluated. */
export type CallRightsRow = Pick<InvocationRow, 'credential' | 'workspace_id'> & { needed: string[] };

/** The permissions that a call still needs, and the requester with its credential. */
export function findCallRights(tenantId: string, id: string) {
  return sql<CallRightsRow>`
    select i.credential, i.workspace_id, array(
      select jsonb_array_elements_text(s.contract -> 'requiredPermissions')
      union select 'skills.invoke' where i.requested_by_kind in ('principal', 'run')
    ) as needed
    from skill_invocations i join skills s on s.id = i.skill_id
    where i.id = ${id} and i.tenant_id = ${tenantId}`;
}

/** Whether the executor can execute the calls of the queue `q`. */
function isQueueInReach(reach: ExecutorReach) {
  return part`case q.protocol
          when 'local' then ${reach.localEntrypoints}::text[] is null or q.target = any (${reach.localEntrypoints}::text[])
          when 'http' then ${reach.httpOrigins}::text[] is null or q.target = any (${reach.httpOrigins}::text[])
          else ${reach.mcpEndpoints}::text[] is null or q.target = any (${reach.mcpEndpoints}::text[])
        end
        and (${reach.audiences}::text[] is null or q.audience = '' or q.audience = any (${reach.audiences}::text[]))`;
}

/**
 * How many calls at the heads of queues, per queue and in total, an executor tries in order to find an unlocked one.
 */
const headsOfQueueMax = 20;
const headsMax = 100;

/**
 * Locks the oldest pending call that an executor can execute and that is not locked. The index is used to step from
 * queue to queue of the tenant, so that a queue for other executors costs one index lookup, regardless of its length. A
 * separate subquery reads the clock, which makes it a condition of the index, so that calls that await a retry aren't
 * read either.
 *
 * Calls that verify the executor's own work are skipped. If they are at the head of a queue, a separate index steps
 * over the sets of barred principals in that queue: one lookup per set, regardless of its number of calls. The number
 * of sets equals the number of groups of agents that worked on a task together, at most
 * CP_SKILL_INVOCATIONS_PENDING_MAX.
 */
export function lockNextPending(tenantId: string, reach: ExecutorReach) {
  return sql<{ id: string }>`
    with recursive queues (protocol, target, audience) as (
      select p.protocol, head.target, head.audience
      from unnest(${reach.protocols}::text[]) as p (protocol) cross join lateral (
        select i.target, i.audience from skill_invocations i
        where i.tenant_id = ${tenantId} and i.status = 'pending' and i.protocol = p.protocol
        order by i.target, i.audience limit 1
      ) head
      union all
      select q.protocol, next.target, next.audience
      from queues q cross join lateral (
        select i.target, i.audience from skill_invocations i
        where i.tenant_id = ${tenantId} and i.status = 'pending' and i.protocol = q.protocol
          and (i.target, i.audience) > (q.target, q.audience)
        order by i.target, i.audience limit 1
      ) next
    ), heads as materialized (
      select q.*, head.id, head.is_barred
      from queues q cross join lateral (
        select i.id, i.available_at, ${reach.principalId} = any (i.barred_principals) as is_barred from skill_invocations i
        where i.tenant_id = ${tenantId} and i.status = 'pending' and i.protocol = q.protocol and i.target = q.target
          and i.audience = q.audience and i.available_at <= (select clock_timestamp())
        order by i.available_at, i.id limit ${headsOfQueueMax}::integer
      ) head
      where ${isQueueInReach(reach)}
        and ${reach.invocationId}::uuid is null
      order by head.is_barred, head.available_at, head.id limit ${headsMax}::integer
    ), sets (protocol, target, audience, barred_set, is_barred) as (
      select q.protocol, q.target, q.audience, first.barred_set, first.is_barred
      from (select distinct protocol, target, audience from heads where is_barred) q cross join lateral (
        select hash_array_extended(i.barred_principals, 0) as barred_set,
          ${reach.principalId} = any (i.barred_principals) as is_barred
        from skill_invocations i
        where i.tenant_id = ${tenantId} and i.status = 'pending' and i.protocol = q.protocol and i.target = q.target
          and i.audience = q.audience
        order by hash_array_extended(i.barred_principals, 0) limit 1
      ) first
      union all
      select s.protocol, s.target, s.audience, next.barred_set, next.is_barred
      from sets s cross join lateral (
        select hash_array_extended(i.barred_principals, 0) as barred_set,
          ${reach.principalId} = any (i.barred_principals) as is_barred
        from skill_invocations i
        where i.tenant_id = ${tenantId} and i.status = 'pending' and i.protocol = s.protocol and i.target = s.target
          and i.audience = s.audience and hash_array_extended(i.barred_principals, 0) > s.barred_set
        order by hash_array_extended(i.barred_principals, 0) limit 1
      ) next
    ), behind as materialized (
      select head.id
      from sets s cross join lateral (
        select i.id, i.available_at from skill_invocations i
        where i.tenant_id = ${tenantId} and i.status = 'pending' and i.protocol = s.protocol and i.target = s.target
          and i.audience = s.audience and hash_array_extended(i.barred_principals, 0) = s.barred_set
          and i.available_at <= (select clock_timestamp())
        order by i.available_at, i.id limit ${headsOfQueueMax}::integer
      ) head
      where not s.is_barred
      order by head.available_at, head.id limit ${headsMax}::integer
    )
    select i.id from skill_invocations i
    where i.id in (select id from heads where not is_barred union all select id from behind)
      and i.status = 'pending' and i.available_at <= clock_timestamp() and ${reach.principalId} <> all (i.barred_principals)
    order by i.available_at, i.id limit 1
    for no key update skip locked`;
}

/**
 * Like `lockNextPending`, for an executor with restricted visibility: it steps from queue to queue of each visible
 * workspace, so that pending calls elsewhere cost nothing, regardless of their number. A call for a task is visible if
 * the task is. The call stays in the queue of the workspace in which it was requested: after the task has moved, only
 * executors who see both workspaces get the call.
 *
 * Calls of tasks that moved out of view, and calls that verify the executor's own work, are skipped individually. Their
 * number is small: a queue has at most CP_SKILL_INVOCATIONS_PENDING_MAX calls, and these people executed or saw each of
 * the tasks.
 * @param viewerId the viewer whose visibility applies
 */
export function lockNextVisiblePending(tenantId: string, reach: ExecutorReach, viewerId: string) {
  return sql<{ id: string }>`
    with recursive places as materialized (
      select id from workspaces_seen_by(${viewerId}::uuid) as seen (id) union all select ${tenantId}::uuid
    ), queues (place, protocol, target, audience) as (
      select place.id, p.protocol, head.target, head.audience
      from places place cross join unnest(${reach.protocols}::text[]) as p (protocol) cross join lateral (
        select i.target, i.audience from skill_invocations i
        where coalesce(i.workspace_id, i.tenant_id) = place.id and i.status = 'pending' and i.protocol = p.protocol
        order by i.target, i.audience limit 1
      ) head
      union all
      select q.place, q.protocol, next.target, next.audience
      from queues q cross join lateral (
        select i.target, i.audience from skill_invocations i
        where coalesce(i.workspace_id, i.tenant_id) = q.place and i.status = 'pending' and i.protocol = q.protocol
          and (i.target, i.audience) > (q.target, q.audience)
        order by i.target, i.audience limit 1
      ) next
    ), heads as materialized (
      select head.id
      from queues q cross join lateral (
        select i.id, i.available_at from skill_invocations i
        where coalesce(i.workspace_id, i.tenant_id) = q.place and i.status = 'pending' and i.protocol = q.protocol
          and i.target = q.target and i.audience = q.audience and i.available_at <= (select clock_timestamp())
          and (i.task_id is null or sees_task(${viewerId}::uuid, i.task_id)) and ${reach.principalId} <> all (i.barred_principals)
        order by i.available_at, i.id limit ${headsOfQueueMax}::integer
      ) head
      where ${isQueueInReach(reach)}
      order by head.available_at, head.id limit ${headsMax}::integer
    )
    select i.id from skill_invocations i
    where i.id in (select id from heads) and i.status = 'pending' and i.available_at <= clock_timestamp()
      and ${reach.principalId} <> all (i.barred_principals)
    order by i.available_at, i.id limit 1
    for no key update skip locked`;
}

/**
 * Like `lockNextPending`, for one call by its id: it waits for a lock, because no other call is acceptable.
 * @param viewerId the viewer whose visibility applies; null for a viewer who sees everything
 */
export function lockNamedPending(tenantId: string, reach: ExecutorReach, viewerId: string | null) {
  return sql<{ id: string; task_id: string | null; is_barred: boolean }>`
    select i.id, i.task_id, ${reach.principalId} = any (i.barred_principals) as is_barred from skill_invocations i
    where i.id = ${reach.invocationId}::uuid and i.tenant_id = ${tenantId} and i.status = 'pending'
      and i.available_at <= clock_timestamp() and i.protocol = any (${reach.protocols}::text[])
      and case i.protocol
        when 'local' then ${reach.localEntrypoints}::text[] is null or i.target = any (${reach.localEntrypoints}::text[])
        when 'http' then ${reach.httpOrigins}::text[] is null or i.target = any (${reach.httpOrigins}::text[])
        else ${reach.mcpEndpoints}::text[] is null or i.target = any (${reach.mcpEndpoints}::text[])
      end
      and (${reach.audiences}::text[] is null or i.audience = '' or i.audience = any (${reach.audiences}::text[]))
      and case when i.task_id is null then sees_workspace(${viewerId}::uuid, i.workspace_id)
        else sees_task(${viewerId}::uuid, i.task_id) end
    for no key update`;
}

/**
 * Assigns a locked call to an executor with a new lease. Returns no row when the call has lost its basis, or when its
 * skill has moved to another queue.
 * @param leaseSeconds the requested lease; null for the contract's timeout plus 30 s
 */
export function updateToRunning(
  tenantId: string,
  id: string,
  executor: { principalId: string; sessionId: string | null; leaseSeconds: number | null },
  named: NamesOfBindings,
) {
  return sql<InvocationRow>`
    update skill_invocations i
    set status = 'running', attempt = i.attempt + 1, fencing_token = i.fencing_token + 1,
      executor_principal_id = ${executor.principalId}, executor_session_id = ${executor.sessionId}::uuid,
      started_at = clock.now, heartbeat_at = null, updated_at = clock.now,
      lease_expires_at = clock.now + make_interval(secs => least(
        greatest(coalesce(${executor.leaseSeconds}::integer, i.timeout_seconds + 30), 10), 3600,
        2 * i.timeout_seconds + 30))
    from skills s, (select clock_timestamp() as now) clock
    where i.id = ${id} and i.tenant_id = ${tenantId} and i.status = 'pending' and s.id = i.skill_id
      and s.target = i.target and s.audience = i.audience and lost_basis(i.id, ${named}::text[]) is null
    returning i.*`;
}

/** The reason why a locked call was not assigned to an executor. */
export function findObstacle(tenantId: string, id: string, named: NamesOfBindings) {
  return sql<{ lost: string | null }>`
    select lost_basis(id, ${named}::text[]) as lost from skill_invocations where id = ${id} and tenant_id = ${tenantId}`;
}

/** Moves pending calls into the current queue of their skill. */
export function updateQueueOf(tenantId: string, ids: readonly string[]) {
  return sql`
    update skill_invocations i set target = s.target, audience = s.audience
    from skills s
    where i.id = any (${ids}::uuid[]) and i.tenant_id = ${tenantId} and i.status = 'pending' and s.id = i.skill_id
      and (s.target <> i.target or s.audience <> i.audience)`;
}

/** Proof of a call's lease: the executor, its token and, if sent, its session. */
export interface ShownLease {
  principalId: string;
  fencingToken: number;
  sessionId: string | null;
}

/** Extends a live lease, to at most twice the contract's timeout plus 30 s. */
export function updateLease(tenantId: string, id: string, shown: ShownLease, leaseSeconds: number | null) {
  return sql<InvocationRow>`
    update skill_invocations
    set heartbeat_at = clock_timestamp(), updated_at = clock_timestamp(), lease_expires_at = least(
      clock_timestamp() + make_interval(secs =>
        least(greatest(coalesce(${leaseSeconds}::integer, timeout_seconds + 30), 10), 3600)),
      started_at + make_interval(secs => 2 * timeout_seconds + 30))
    where id = ${id} and tenant_id = ${tenantId} and status = 'running' and executor_principal_id = ${shown.principalId}
      and fencing_token = ${shown.fencingToken}::bigint
      and (${shown.sessionId}::uuid is null or executor_session_id = ${shown.sessionId}::uuid)
      and lease_expires_at > clock_timestamp()
    returning *`;
}

/** Locks a call under a live lease; returns no row when the lease has expired or belongs to another executor. */
export function lockLeased(tenantId: string, id: string, shown: ShownLease) {
  return sql<InvocationRow>`
    with held as materialized (
      select * from skill_invocations
      where id = ${id} and tenant_id = ${tenantId} and status = 'running'
        and executor_principal_id = ${shown.principalId} and fencing_token = ${shown.fencingToken}::bigint
        and (${shown.sessionId}::uuid is null or executor_session_id = ${shown.sessionId}::uuid)
      for no key update
    )
    select * from held where lease_expires_at > clock_timestamp()`;
}
