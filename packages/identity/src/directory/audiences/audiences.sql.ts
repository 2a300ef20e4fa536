import { sql } from '@baton/kernel/sql';
import type { AudienceRow } from './audience.ts';

/** No row when the key is taken; waits for a transaction that is taking it. */
export function insertAudience(audience: {
  id: string;
  tenantId: string;
  key: string;
  allowedScopes: readonly string[];
}) {
  return sql<AudienceRow>`
    insert into audiences (id, tenant_id, key, allowed_scopes)
    values (${audience.id}, ${audience.tenantId}, ${audience.key}, ${audience.allowedScopes})
    on conflict (tenant_id, key) do nothing
    returning id, tenant_id, key, allowed_scopes, status`;
}

/** In the order of code points, whatever the collation of the database. */
export function findAudiences(tenantId: string) {
  return sql<AudienceRow>`
    select id, tenant_id, key, allowed_scopes, status from audiences
    where tenant_id = ${tenantId}
    order by key collate "C"`;
}

export function findActiveAudiences(tenantId: string, keys: readonly string[]) {
  return sql<AudienceRow>`
    select id, tenant_id, key, allowed_scopes, status from audiences
    where tenant_id = ${tenantId} and key = any (${keys}::text[]) and status = 'active'`;
}

export function findAudience(tenantId: string, key: string) {
  return sql<AudienceRow>`
    select id, tenant_id, key, allowed_scopes, status from audiences
    where tenant_id = ${tenantId} and key = ${key}`;
}

export function lockAudience(tenantId: string, key: string) {
  return sql<AudienceRow>`
    select id, tenant_id, key, allowed_scopes, status from audiences
    where tenant_id = ${tenantId} and key = ${key}
    for no key update`;
}

export function updateAudienceRow({ id, allowed_scopes, status }: AudienceRow) {
  return sql`update audiences set allowed_scopes = ${allowed_scopes}, status = ${status} where id = ${id}`;
}
