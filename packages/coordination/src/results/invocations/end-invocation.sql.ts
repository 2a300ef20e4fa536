import { part, sql } from '@baton/kernel/database/sql';
import type { JsonObject } from '@baton/values/wire';
import type { InvocationError, InvocationRow } from '../../leases/invocations/invocation-row.ts';
import type { QueuePosition } from '../../service/queue-walk.ts';

/** A call that ends, and the approval whose outcome may be waiting for it. */
export interface Ending {
  id: string;
  approvalId: string | null;
}

/** Wakes the verification and the outcome that wait for the end of a call. */
function wakeWaiters(tenantId: string, { id, approvalId }: Ending) {
  return part`with woken as (
      update verifications set next_check_at = clock_timestamp()
      where skill_invocation_id = ${id} and tenant_id = ${tenantId} and finished_at is null
    ), woken_outcome as (
      update approval_outcomes set next_attempt_at = clock_timestamp()
      where approval_id = ${approvalId}::uuid and tenant_id = ${tenantId} and next_attempt_at is not null
    )`;
}

/** Ends a locked call with its output and wakes its waiters. */
export function updateToSucceeded(
  tenantId: string,
  ending: Ending,
  result: { output: JsonObject; cost: InvocationRow['cost']; artifactId: string | null },
) {
  return sql<InvocationRow>`
    ${wakeWaiters(tenantId, ending)}
    update skill_invocations
    set status = 'succeeded', output = ${JSON.stringify(result.output)},
      cost = ${result.cost === null ? null : JSON.stringify(result.cost)}, error = null,
      artifact_id = ${result.artifactId}::uuid, lease_expires_at = null, finished_at = clock_timestamp(),
      updated_at = clock_timestamp()
    where id = ${ending.id} and tenant_id = ${tenantId}
    returning *`;
}

/** Ends a locked call that failed and wakes its waiters. */
export function updateToFailed(
  tenantId: string,
  ending: Ending,
  failure: { error: InvocationError; cost: InvocationRow['cost'] },
) {
  return sql<InvocationRow>`
    ${wakeWaiters(tenantId, ending)}
    update skill_invocations
    set status = 'failed', error = ${JSON.stringify(failure.error)},
      cost = ${failure.cost === null ? null : JSON.stringify(failure.cost)}, lease_expires_at = null,
      finished_at = clock_timestamp(), updated_at = clock_timestamp()
    where id = ${ending.id} and tenant_id = ${tenantId}
    returning *`;
}

/** Requeues a locked call with the delay of its contract's retry policy. */
export function updateToRetried(tenantId: string, id: string, error: InvocationError) {
  return sql<InvocationRow>`
    update skill_invocations
    set status = 'pending', error = ${JSON.stringify(error)}, lease_expires_at = null,
      available_at = date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => backoff_seconds), updated_at = clock_timestamp()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export type DueLeaseRow = { id: string; tenant_id: string; lease_expires_at: string };

/** Calls of all tenants whose lease has expired; each is checked again under its lock. */
export function findDueLeases([leaseExpiresAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueLeaseRow>`
    select id, tenant_id, lease_expires_at from skill_invocations
    where status = 'running' and lease_expires_at <= clock_timestamp()
      and (lease_expires_at, id) > (${leaseExpiresAt}::timestamptz, ${id}::uuid)
    order by lease_expires_at, id limit ${rowsMax}`;
}

/** Locks a call whose lease has expired, unless it is already locked. */
export function lockFreeExpired(tenantId: string, id: string) {
  return sql<InvocationRow>`
    select * from skill_invocations
    where id = ${id} and tenant_id = ${tenantId} and status = 'running' and lease_expires_at <= clock_timestamp()
    for no key update skip locked`;
}

/** Locks the calls with the oldest expired leases of a tenant, except those that are already locked. */
export function lockExpiredOfTenant(tenantId: string, rowsMax: number) {
  return sql<InvocationRow>`
    select * from skill_invocations
    where tenant_id = ${tenantId} and status = 'running' and lease_expires_at <= clock_timestamp()
    order by lease_expires_at limit ${rowsMax}
    for no key update skip locked`;
}
