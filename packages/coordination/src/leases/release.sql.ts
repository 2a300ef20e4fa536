import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../service/schema.ts';
import type { ClaimRow } from './lease-rows.ts';

/** A released claim with its task after the release. */
export type ReleasedClaimRow = ClaimRow &
  Pick<RowOf<Tables['tasks']>, 'workspace_id'> & { task_status: string; task_category: string };

export function countActiveClaimsOfSession(tenantId: string, sessionId: string) {
  return sql<{ count: number }>`
    select count(*) as count from claims
    where session_id = ${sessionId} and tenant_id = ${tenantId} and status = 'active'`;
}

/** The rows that one transaction processes. */
export interface Batch {
  rowsMax: number;
  /** The ids of rows that failed and are paused until their next attempt. */
  except: readonly string[];
}

/**
 * Active claims of a session, with their tasks locked; claims whose task another transaction has locked are skipped.
 */
export function lockFreeClaimsOfSession(tenantId: string, sessionId: string, { rowsMax, except }: Batch) {
  return sql<{ id: string }>`
    select c.id from claims c join tasks t on t.id = c.task_id
    where c.session_id = ${sessionId} and c.tenant_id = ${tenantId} and c.status = 'active'
      and c.id <> all (${except}::uuid[])
    limit ${rowsMax}
    for no key update of t skip locked`;
}

/** Like `lockFreeClaimsOfSession`, for a holder's active claims that were acquired before an instant. */
export function lockFreeClaimsOfHolder(
  tenantId: string,
  holderId: string,
  until: string,
  { rowsMax, except }: Batch,
) {
  return sql<{ id: string }>`
    select c.id from claims c join tasks t on t.id = c.task_id
    where c.holder_id = ${holderId} and c.tenant_id = ${tenantId} and c.status = 'active'
      and c.acquired_at <= ${until}::timestamptz and c.id <> all (${except}::uuid[])
    limit ${rowsMax}
    for no key update of t skip locked`;
}

/** Locks the task of one active claim; returns no row if another transaction has locked the task. */
export function lockFreeClaim(tenantId: string, claimId: string) {
  return sql<{ id: string }>`
    select c.id from claims c join tasks t on t.id = c.task_id
    where c.id = ${claimId} and c.tenant_id = ${tenantId} and c.status = 'active'
    for no key update of t skip locked`;
}

/**
 * Ends claims and frees their tasks: locks the tasks in the order of their ids, then the claims. A claim that ended
 * during the wait is left unchanged.
 * @param release.taskMoves whether the task returns to the type's release status, if it still has the claim status
 * @param release.isExpiry whether the release counts as a failed attempt, unless a run of the claim failed
 */
export function updateClaimsToReleased(release: {
  tenantId: string;
  claimIds: readonly string[];
  reason: string;
  taskMoves: boolean;
  isExpiry: boolean;
}) {
  return sql<ReleasedClaimRow>`
    with locked as materialized (
      select t.id, t.type_id from tasks t
      where t.tenant_id = ${release.tenantId} and t.id in (
        select c.task_id from claims c
        where c.id = any ((select ${release.claimIds}::uuid[])::uuid[]) and c.tenant_id = ${release.tenantId} and c.status = 'active')
      order by t.id
      for no key update of t
    ), released as (
      update claims c set status = 'released', released_at = now(), release_reason = ${release.reason}
      from locked
      where c.task_id = locked.id and c.id = any ((select ${release.claimIds}::uuid[])::uuid[]) and c.status = 'active'
      returning c.*
    ), freed as (
      update tasks t
      set active_claim_id = null, lease_expires_at = null,
        status = case when ${release.taskMoves} and t.status = tt.claim_status then coalesce(tt.release_status, t.status) else t.status end,
        category = case when ${release.taskMoves} and t.status = tt.claim_status then coalesce(tt.release_category, t.category) else t.category end,
        failed_attempts = t.failed_attempts + (${release.isExpiry} and counts_as_failed(released.id))::integer,
        version = t.version + case when ${release.taskMoves} then 1 else 0 end, updated_at = now()
      from released join locked on locked.id = released.task_id join task_types tt on tt.id = locked.type_id
      where t.id = released.task_id and t.active_claim_id = released.id
      returning t.id, t.workspace_id, t.status, t.category
    )
    select released.*, t.workspace_id, coalesce(freed.status, t.status) as task_status,
      coalesce(freed.category, t.category) as task_category
    from released join tasks t on t.id = released.task_id left join freed on freed.id = released.task_id
    order by released.task_id`;
}
