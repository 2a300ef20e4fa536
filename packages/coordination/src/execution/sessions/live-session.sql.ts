import { sql } from '@baton/kernel/database/sql';
import type { SessionRow } from '../../leases/lease-rows.ts';

export type SessionStateRow = Pick<SessionRow, 'id' | 'principal_id' | 'status'> & {
  lease_over: boolean;
  delegation_over: boolean;
};

/** Takes shared locks on a session, so that it can't end during the command. The next statement reads its state. */
export function shareSession(tenantId: string, sessionId: string) {
  return sql`
    select enter_session(id, principal_id, on_behalf_of_id) from sessions
    where id = ${sessionId} and tenant_id = ${tenantId}`;
}

/**
 * Acquires the session's lock exclusively, for a command that may end it. Waits for the commands that share it, without
 * terminating them.
 */
export function lockSession(tenantId: string, sessionId: string) {
  return sql`
    select lock_session(id, principal_id, on_behalf_of_id) from sessions
    where id = ${sessionId} and tenant_id = ${tenantId}`;
}

/** Also locks the row, against commands that lock the row without the session's lock. */
export function lockSessionRow(tenantId: string, sessionId: string) {
  return sql`select id from sessions where id = ${sessionId} and tenant_id = ${tenantId} for no key update`;
}

/**
 * Reads the state of a session together with that of the caller. If the session doesn't exist, all its columns are
 * null. A session of a disabled principal counts as closed, even if the worker hasn't closed its row yet.
 */
export function findSessionState(tenantId: string, sessionId: string, callerId: string) {
  return sql<{ caller_active: boolean } & (SessionStateRow | { id: null })>`
    select caller.status = 'active' as caller_active, s.id, s.principal_id,
      case when exists (
        select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at
      ) then 'closed' else s.status end as status,
      s.expires_at <= clock_timestamp() as lease_over,
      s.delegation_id is not null and not exists (
        select from delegations d
        where d.id = s.delegation_id and d.revoked_at is null and (d.expires_at is null or d.expires_at > clock_timestamp())
      ) as delegation_over
    from principals caller left join sessions s on s.id = ${sessionId} and s.tenant_id = ${tenantId}
    where caller.id = ${callerId} and caller.tenant_id = ${tenantId}`;
}
