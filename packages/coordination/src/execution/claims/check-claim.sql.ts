import { sql } from '@baton/kernel/database/sql';
import type { ClaimRow } from '../../leases/lease-rows.ts';
import type { ClaimCheck } from './claim.ts';

export type CheckedClaimRow = Pick<ClaimRow, 'task_id' | 'holder_id' | 'expires_at'> &
  Pick<ClaimCheck, 'reason'>;

/**
 * Checks a claim at the current time, in one statement without a lock; returns no row for an unknown claim. If the
 * token is not that of the task's last claim, the result is `superseded`, regardless of the state of the claim.
 */
export function findClaimCheck(tenantId: string, claimId: string, fencingToken: number) {
  return sql<CheckedClaimRow>`
    select c.task_id, c.holder_id, c.expires_at,
      case
        when c.fencing_token <> ${fencingToken}::bigint or t.claim_epoch <> c.fencing_token then 'superseded'
        when c.status = 'released' then 'released'
        when c.status = 'stale' then case when c.release_reason = 'expired' then 'expired' else 'session_inactive' end
        when c.expires_at <= clock_timestamp() then 'expired'
        when s.status <> 'active' or s.expires_at <= clock_timestamp()
          or exists (
            select from endings e
            where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at)
          or (s.delegation_id is not null and not exists (
            select from delegations d
            where d.id = s.delegation_id and d.revoked_at is null
              and (d.expires_at is null or d.expires_at > clock_timestamp())))
          then 'session_inactive'
        else 'live'
      end as reason
    from claims c join tasks t on t.id = c.task_id join sessions s on s.id = c.session_id
    where c.id = ${claimId} and c.tenant_id = ${tenantId}`;
}
