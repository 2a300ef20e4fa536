import { sql } from '@baton/kernel/sql';
import type { ClaimRow, SessionRow } from '../../leases/lease-rows.ts';

/**
 * Moves the lease of a live claim, on the task and on the claim together; no row when anything stands in the way.
 *
 * Whoever ends the claim (a release, a take-over, the sweeper, a completion) writes the task's row: a heartbeat that
 * waited for one of them has `active_claim_id` and the lease evaluated again on the new row. A session that closes in the
 * same instant either got the task first, or comes after and releases the claim.
 */
export function updateClaimLease(beat: {
  tenantId: string;
  claimId: string;
  callerId: string;
  mayManage: boolean;
  /** Null for the length that it was taken for. */
  ttlSeconds: number | null;
}) {
  return sql<ClaimRow>`
    with beaten as (
      update tasks t set lease_expires_at = now() + make_interval(secs => coalesce(${beat.ttlSeconds}::integer, c.lease_seconds))
      from claims c join sessions s on s.id = c.session_id, principals caller
      where c.id = ${beat.claimId} and c.tenant_id = ${beat.tenantId} and t.id = c.task_id
        and t.active_claim_id = c.id and t.lease_expires_at > now()
        and (c.holder_id = ${beat.callerId} or ${beat.mayManage})
        and s.status = 'active' and s.expires_at > now()
        and (s.delegation_id is null or exists (
          select from delegations d
          where d.id = s.delegation_id and d.revoked_at is null and (d.expires_at is null or d.expires_at > now())))
        and caller.id = ${beat.callerId} and caller.tenant_id = ${beat.tenantId} and caller.status = 'active'
      returning t.id, t.lease_expires_at
    )
    update claims c set expires_at = beaten.lease_expires_at, heartbeat_at = now()
    from beaten where c.id = ${beat.claimId} and c.task_id = beaten.id
    returning c.*`;
}

export type LeaseStateRow = Pick<ClaimRow, 'holder_id' | 'status' | 'expires_at' | 'session_id'> & {
  session_status: SessionRow['status'];
  lease_over: boolean;
  session_over: boolean;
  delegation_over: boolean;
};

/** Locks the claim's task, so that what is read next can't change; no row for an unknown claim. */
export function lockTaskOfClaim(tenantId: string, claimId: string) {
  return sql<{ id: string }>`
    select t.id from tasks t
    where t.id = (select task_id from claims where id = ${claimId} and tenant_id = ${tenantId})
    for no key update`;
}

/** All that decides whether a claim is live. */
export function findLeaseState(tenantId: string, claimId: string) {
  return sql<LeaseStateRow>`
    select c.holder_id, c.status, c.expires_at, c.session_id, s.status as session_status,
      c.expires_at <= now() as lease_over,
      s.status <> 'active' or s.expires_at <= now() as session_over,
      s.delegation_id is not null and not exists (
        select from delegations d
        where d.id = s.delegation_id and d.revoked_at is null and (d.expires_at is null or d.expires_at > now())
      ) as delegation_over
    from claims c join sessions s on s.id = c.session_id
    where c.id = ${claimId} and c.tenant_id = ${tenantId}`;
}
