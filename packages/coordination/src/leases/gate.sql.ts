import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../service/schema.ts';
import type { ClaimRow } from './lease-rows.ts';

/** The task's fencing epoch with its live claim; without a live claim, every column of the claim is null. */
export type GateRow = Pick<RowOf<Tables['tasks']>, 'claim_epoch'> & { delegation_over: boolean } & (
    | ClaimRow
    | { id: null }
  );

/**
 * Reads the claim that a write must present, after the task has been locked: under that lock, a claim can neither end
 * nor change its holder. The lease is compared with the current time, not with the transaction's start, because the
 * command may have waited for the lock.
 */
export function findGate(tenantId: string, taskId: string) {
  return sql<GateRow>`
    select c.*, t.claim_epoch
    from tasks t
    left join lateral (
      select c.*, s.delegation_id is not null and not exists (
          select from delegations d
          where d.id = s.delegation_id and d.revoked_at is null and (d.expires_at is null or d.expires_at > clock_timestamp())
        ) as delegation_over
      from claims c join sessions s on s.id = c.session_id
      where c.id = t.active_claim_id and c.status = 'active' and c.expires_at > clock_timestamp()
        and s.status = 'active' and s.expires_at > clock_timestamp() and not exists (
          select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at)
    ) c on true
    where t.id = ${taskId} and t.tenant_id = ${tenantId}`;
}
