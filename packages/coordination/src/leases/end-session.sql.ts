import { sql } from '@baton/kernel/database/sql';
import type { QueuePosition } from '../service/queue-walk.ts';
import type { EndingRow, SessionRow } from './lease-rows.ts';
import type { Batch } from './release.sql.ts';

/**
 * Locks the session and closes it; returns no row if it is already closed. A stale session keeps the time at which it
 * ended.
 */
export function updateSessionToClosed(tenantId: string, sessionId: string) {
  return sql<SessionRow>`
    update sessions set status = 'closed', ended_at = coalesce(ended_at, now())
    where id = ${sessionId} and tenant_id = ${tenantId} and status <> 'closed'
    returning *`;
}

/** Locks the session and marks it as stale; returns no row if its lease is live, or it has already been marked. */
export function updateSessionToStale(tenantId: string, sessionId: string) {
  return sql<SessionRow>`
    update sessions set status = 'stale', ended_at = clock_timestamp()
    where id = ${sessionId} and tenant_id = ${tenantId} and status = 'active' and expires_at <= clock_timestamp()
    returning *`;
}

/** Takes the session's lock exclusively, without waiting; returns no row if another command uses the session. */
export function tryLockSession(tenantId: string, sessionId: string) {
  return sql<{ id: string }>`
    with free as materialized (
      select id from sessions where id = ${sessionId} and tenant_id = ${tenantId} for no key update skip locked
    )
    select id from free where pg_try_advisory_xact_lock(session_lock(id))`;
}

export interface NewEnding {
  id: string;
  tenantId: string;
  principalId: string | null;
  sessionId: string | null;
  reason: string;
}

export function insertEnding(ending: NewEnding) {
  return sql`
    insert into endings (id, tenant_id, principal_id, session_id, reason)
    values (${ending.id}, ${ending.tenantId}, ${ending.principalId}, ${ending.sessionId}, ${ending.reason})`;
}

export type DueEndingRow = Pick<EndingRow, 'id' | 'tenant_id' | 'acknowledged_at'>;

/**
 * Endings, oldest first; each must be locked before it is processed.
 * @param after the last ending of the previous batch
 */
export function findEndings([acknowledgedAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueEndingRow>`
    select id, tenant_id, acknowledged_at from endings
    where (acknowledged_at, id) > (${acknowledgedAt}::timestamptz, ${id}::uuid)
    order by acknowledged_at, id limit ${rowsMax}`;
}

/** Locks an ending; returns no row if another worker has locked it or it is done. */
export function tryLockEnding(tenantId: string, endingId: string) {
  return sql<EndingRow>`
    select * from endings where id = ${endingId} and tenant_id = ${tenantId} for update skip locked`;
}

export function deleteEnding(tenantId: string, endingId: string) {
  return sql`delete from endings where id = ${endingId} and tenant_id = ${tenantId}`;
}

/**
 * Locks open sessions of a principal, and those opened on its behalf, that existed at an instant; skips sessions that
 * other commands are using.
 */
export function lockFreeSessions(
  tenantId: string,
  principalId: string,
  until: string,
  { rowsMax, except }: Batch,
) {
  return sql<{ id: string }>`
    with free as materialized (
      select id from sessions
      where tenant_id = ${tenantId} and status <> 'closed' and started_at <= ${until}::timestamptz
        and (principal_id = ${principalId} or on_behalf_of_id = ${principalId})
        and id <> all (${except}::uuid[])
      order by id
      limit ${rowsMax}
      for no key update skip locked
    )
    select id from free where pg_try_advisory_xact_lock(session_lock(id)) order by id`;
}

/**
 * Counts the sessions of a principal and those opened on its behalf, the claims in these sessions and the principal's
 * other claims, and the runs of all these claims.
 */
export function countWork(tenantId: string, principalId: string, until: string) {
  return sql<{ sessions: number; claims: number; runs: number }>`
    with open as materialized (
      select id from sessions
      where tenant_id = ${tenantId} and status <> 'closed' and started_at <= ${until}::timestamptz
        and (principal_id = ${principalId} or on_behalf_of_id = ${principalId})
    ), held as materialized (
      select id from claims
      where tenant_id = ${tenantId} and holder_id = ${principalId} and status = 'active'
        and acquired_at <= ${until}::timestamptz
      union
      select c.id from open join claims c on c.session_id = open.id and c.status = 'active'
    )
    select (select count(*) from open) as sessions, (select count(*) from held) as claims,
      (select count(*) from held join runs r on r.claim_id = held.id where r.status = 'running') as runs`;
}
