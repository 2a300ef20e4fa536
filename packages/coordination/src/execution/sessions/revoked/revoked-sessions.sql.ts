import { sql } from '@baton/kernel/database/sql';

export interface RevokedSessionRow {
  id: string;
  tenant_id: string;
}

/** The next active sessions of revoked credentials, in the order of their ids. */
export function findRevokedSessions(revoked: readonly string[], afterId: string, rowsMax: number) {
  return sql<RevokedSessionRow>`
    select id, tenant_id from sessions
    where status = 'active' and revocable_by && ${revoked}::text[] and id > ${afterId}::uuid
    order by id limit ${rowsMax}`;
}

/** Returns the session unless it has ended, or another credential has renewed it. */
export function findRevokedSession(tenantId: string, sessionId: string, revoked: readonly string[]) {
  return sql<{ id: string }>`
    select id from sessions
    where id = ${sessionId} and tenant_id = ${tenantId} and status = 'active' and revocable_by && ${revoked}::text[]`;
}
