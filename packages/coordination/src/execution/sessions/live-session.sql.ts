import { sql } from '@baton/kernel/sql';
import type { SessionRow } from '../../leases/lease-rows.ts';

export type SessionStateRow = Pick<SessionRow, 'id' | 'principal_id' | 'status'> & {
  lease_over: boolean;
  delegation_over: boolean;
};

/**
 * The state of a session, locked (shared) so that it can't close during the command. The clock is read outside of the
 * select that locks: inside, PostgreSQL reads it before the wait.
 */
export function lockSessionShared(tenantId: string, sessionId: string) {
  return sql<SessionStateRow>`
    with s as materialized (
      select id, principal_id, status, expires_at, delegation_id from sessions
      where id = ${sessionId} and tenant_id = ${tenantId}
      for share
    )
    select s.id, s.principal_id, s.status, s.expires_at <= clock_timestamp() as lease_over,
      s.delegation_id is not null and not exists (
        select from delegations d
        where d.id = s.delegation_id and d.revoked_at is null and (d.expires_at is null or d.expires_at > clock_timestamp())
      ) as delegation_over
    from s`;
}

/** The same with the lock of a change. Two who share a session can't both go on to change it: they would deadlock. */
export function lockSession(tenantId: string, sessionId: string) {
  return sql<SessionStateRow>`
    with s as materialized (
      select id, principal_id, status, expires_at, delegation_id from sessions
      where id = ${sessionId} and tenant_id = ${tenantId}
      for no key update
    )
    select s.id, s.principal_id, s.status, s.expires_at <= clock_timestamp() as lease_over,
      s.delegation_id is not null and not exists (
        select from delegations d
        where d.id = s.delegation_id and d.revoked_at is null and (d.expires_at is null or d.expires_at > clock_timestamp())
      ) as delegation_over
    from s`;
}

/**
 * The same without a lock, for a refusal that writes nothing, together with the state of the caller. Without such a
 * session every column of it is null.
 */
export function findSessionState(tenantId: string, sessionId: string, callerId: string) {
  return sql<{ caller_active: boolean } & (SessionStateRow | { id: null })>`
    select caller.status = 'active' as caller_active, s.id, s.principal_id, s.status, s.expires_at <= clock_timestamp() as lease_over,
      s.delegation_id is not null and not exists (
        select from delegations d
        where d.id = s.delegation_id and d.revoked_at is null and (d.expires_at is null or d.expires_at > clock_timestamp())
      ) as delegation_over
    from principals caller left join sessions s on s.id = ${sessionId} and s.tenant_id = ${tenantId}
    where caller.id = ${callerId} and caller.tenant_id = ${tenantId}`;
}
