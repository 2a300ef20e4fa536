import { sql } from '@baton/kernel/sql';

export interface LiveSessionRow {
  id: string;
  principal_id: string;
  status: string;
  lease_over: boolean;
  delegation_over: boolean;
}

/** Locks the session (shared), so that it can't close under the command, and says what is wrong with it. */
export function lockSession(tenantId: string, sessionId: string) {
  return sql<LiveSessionRow>`
    select s.id, s.principal_id, s.status, s.expires_at <= now() as lease_over,
      s.delegation_id is not null and not exists (
        select from delegations d
        where d.id = s.delegation_id and d.revoked_at is null and (d.expires_at is null or d.expires_at > now())
      ) as delegation_over
    from sessions s where s.id = ${sessionId} and s.tenant_id = ${tenantId}
    for share of s`;
}
