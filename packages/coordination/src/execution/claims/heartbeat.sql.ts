import { sql } from '@baton/kernel/database/sql';
import type { ClaimRow, SessionRow } from '../../leases/lease-rows.ts';

/**
 * Extends the lease of a live claim, on the task and on the claim together. Returns no row if the claim can't be
 * extended.
 *
 * Every command that ends a claim (a release, a take-over, the sweeper, a completion) writes the task's row: a
 * heartbeat that waited for one of them evaluates `active_claim_id` and the lease again on the new row. Shared locks on
 * the caller and the session protect against a concurrent disable or close. The leases are checked, and the new one
 * starts, at `held.at`, which is read once the task is locked: if a rival locks the task without changing it,
 * PostgreSQL continues with the values from before the wait.
 */
export function updateClaimLease(beat: {
  tenantId: string;
  claimId: string;
  callerId: string;
  mayManage: boolean;
  /** Null for the original length. */
  ttlSeconds: number | null;
}) {
  return sql<ClaimRow>`
    with caller as materialized (
      select ${beat.callerId}::uuid as id
      where enter_principal(${beat.callerId}, ${beat.tenantId}) = 'active'
    ), holder as materialized (
      select c.id as claim_id, c.task_id, c.lease_seconds,
        enter_session(s.id, s.principal_id, s.on_behalf_of_id) as live_until, d.expires_at as delegated_until
      from caller join claims c on c.holder_id = caller.id or ${beat.mayManage}
      join sessions s on s.id = c.session_id
      left join delegations d on d.id = s.delegation_id and d.revoked_at is null
      where c.id = ${beat.claimId} and c.tenant_id = ${beat.tenantId}
        and s.status = 'active' and (s.delegation_id is null or d.id is not null)
    ), locked as materialized (
      select t.id, least(t.lease_expires_at, holder.live_until, holder.delegated_until) as live_until,
        make_interval(secs => coalesce(${beat.ttlSeconds}::integer, holder.lease_seconds)) as lease
      from holder join tasks t on t.id = holder.task_id
      where holder.live_until is not null and t.active_claim_id = holder.claim_id
      for no key update of t
    ), held as materialized (
      select id, live_until, lease, clock_timestamp() as at from locked
    ), beaten as (
      update tasks t set lease_expires_at = held.at + held.lease
      from held where t.id = held.id and held.live_until > held.at
      returning t.id, t.lease_expires_at, held.at
    )
    update claims c set expires_at = beaten.lease_expires_at, heartbeat_at = beaten.at,
      sweep_at = least(c.sweep_at, beaten.lease_expires_at)
    from beaten where c.id = ${beat.claimId} and c.task_id = beaten.id
    returning c.*`;
}

export type LeaseStateRow = Pick<ClaimRow, 'holder_id' | 'status' | 'expires_at' | 'session_id'> & {
  session_status: SessionRow['status'];
  lease_over: boolean;
  session_over: boolean;
  delegation_over: boolean;
};

/** Locks the claim's task, so that the following reads can't change; returns no row for an unknown claim. */
export function lockTaskOfClaim(tenantId: string, claimId: string) {
  return sql<{ id: string }>`
    select t.id from tasks t
    where t.id = (select task_id from claims where id = ${claimId} and tenant_id = ${tenantId})
    for no key update`;
}

/** Reads all state that decides whether a claim is live. */
export function findLeaseState(tenantId: string, claimId: string) {
  return sql<LeaseStateRow>`
    select c.holder_id, c.status, c.expires_at, c.session_id, s.status as session_status,
      c.expires_at <= clock_timestamp() as lease_over,
      s.status <> 'active' or s.expires_at <= clock_timestamp() or exists (
        select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at
      ) as session_over,
      s.delegation_id is not null and not exists (
        select from delegations d
        where d.id = s.delegation_id and d.revoked_at is null and (d.expires_at is null or d.expires_at > clock_timestamp())
      ) as delegation_over
    from claims c join sessions s on s.id = c.session_id
    where c.id = ${claimId} and c.tenant_id = ${tenantId}`;
}
