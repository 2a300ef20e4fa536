import { sql } from '@baton/kernel/sql';
import type { SessionRow } from './lease-rows.ts';

/** Locks the session and closes it; no row when it is closed already. A stale one keeps the moment it ended. */
export function updateSessionToClosed(tenantId: string, sessionId: string) {
  return sql<SessionRow>`
    update sessions set status = 'closed', ended_at = coalesce(ended_at, now())
    where id = ${sessionId} and tenant_id = ${tenantId} and status <> 'closed'
    returning *`;
}

/** Locks the session and notes that its lease is over; no row when it isn't, or when it was recorded before. */
export function updateSessionToStale(tenantId: string, sessionId: string) {
  return sql<SessionRow>`
    update sessions set status = 'stale', ended_at = clock_timestamp()
    where id = ${sessionId} and tenant_id = ${tenantId} and status = 'active' and expires_at <= clock_timestamp()
    returning *`;
}

/** Locks the session; no row when another transaction has it locked. */
export function tryLockSession(tenantId: string, sessionId: string) {
  return sql<{ id: string }>`
    select id from sessions where id = ${sessionId} and tenant_id = ${tenantId} for no key update skip locked`;
}
