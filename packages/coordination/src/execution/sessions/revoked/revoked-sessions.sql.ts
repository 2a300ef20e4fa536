import { sql } from '@baton/kernel/database/sql';

export interface RevokedSessionRow {
  id: string;
  tenant_id: string;
}

/**
 * The next active sessions of revoked credentials, in the order of their ids. Each hash is looked up in the index,
 * because for a long list the planner prefers to compare every session with it, which takes seconds.
 */
export function findRevokedSessions(revoked: readonly string[], afterId: string, rowsMax: number) {
  return sql<RevokedSessionRow>`
    select distinct found.id, found.tenant_id from unnest(${revoked}::text[]) as hashes (hash)
    cross join lateral (
      select id, tenant_id from sessions
      where status = 'active' and revocable_by @> array[hash]
      offset 0
    ) as found
    where found.id > ${afterId}::uuid
    order by found.id limit ${rowsMax}`;
}

/**
 * The API keys and bindings that were revoked within an hour, the newest first: no lease is longer by default. A
 * binding that is active again isn't among them.
 */
export function findRevokedKeys(rowsMax: number) {
  return sql<{ id: string }>`
    select id from (
      (select id, revoked_at from api_keys where revoked_at > now() - interval '1 hour' order by revoked_at desc limit ${rowsMax})
      union all
      (select id, revoked_at from iam_bindings where revoked_at > now() - interval '1 hour' order by revoked_at desc limit ${rowsMax})
    ) as revoked
    order by revoked_at desc limit ${rowsMax}`;
}

/**
 * Returns the session unless it has ended, or another credential has renewed it. The sessions of a disabled principal
 * are left to its ending, which also fails the runs.
 */
export function findRevokedSession(tenantId: string, sessionId: string, revoked: readonly string[]) {
  return sql<{ id: string }>`
    select id from sessions s
    where id = ${sessionId} and tenant_id = ${tenantId} and status = 'active' and revocable_by && ${revoked}::text[]
      and not exists (select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id))`;
}
