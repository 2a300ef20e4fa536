import { sql } from '@baton/kernel/database/sql';

export type DelegatedRow = { delegation_id: string; permissions: string[] };

/**
 * Reads the permissions delegated to a principal's session, which never change; returns no row if the session doesn't
 * act for another principal.
 */
export function findDelegatedRights(
  tenantId: string,
  principalId: string,
  { sessionId = null, runId = null }: { sessionId?: string | null; runId?: string | null },
) {
  return sql<DelegatedRow>`
    select d.id as delegation_id, d.permissions
    from sessions s join delegations d on d.id = s.delegation_id
    where s.tenant_id = ${tenantId} and s.principal_id = ${principalId}
      and s.id = coalesce(${sessionId}::uuid, (select session_id from runs where id = ${runId}::uuid and tenant_id = ${tenantId}))`;
}

/** Delegations with permissions under which a principal currently has a session. */
export function findLiveDelegations(tenantId: string, principalId: string) {
  return sql<DelegatedRow>`
    select d.id as delegation_id, d.permissions
    from delegations d
    where d.tenant_id = ${tenantId} and d.permissions <> '{}' and d.id in (
      select s.delegation_id from sessions s
      where s.principal_id = ${principalId} and s.tenant_id = ${tenantId} and s.status = 'active'
        and s.expires_at > clock_timestamp())`;
}
