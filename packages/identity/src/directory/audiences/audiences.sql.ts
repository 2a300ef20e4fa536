import { sql } from '@baton/kernel/database/sql';
import type { AudienceRow, SigningAlgorithm } from './audience.ts';

/** Returns no row if the key is taken; waits for a transaction that is taking it. */
export function insertAudience(audience: {
  id: string;
  tenantId: string;
  key: string;
  allowedScopes: readonly string[];
  signingAlgorithm: SigningAlgorithm;
}) {
  return sql<AudienceRow>`
    insert into audiences (id, tenant_id, key, allowed_scopes, signing_algorithm)
    values (${audience.id}, ${audience.tenantId}, ${audience.key}, ${audience.allowedScopes}, ${audience.signingAlgorithm})
    on conflict (tenant_id, key) do nothing
    returning id, tenant_id, key, allowed_scopes, signing_algorithm, status`;
}

/** Sorted by code points, whatever the database's collation. */
export function findAudiences(tenantId: string) {
  return sql<AudienceRow>`
    select id, tenant_id, key, allowed_scopes, signing_algorithm, status from audiences
    where tenant_id = ${tenantId}
    order by key collate "C"`;
}

export function findActiveAudiences(tenantId: string, keys: readonly string[]) {
  return sql<AudienceRow>`
    select id, tenant_id, key, allowed_scopes, signing_algorithm, status from audiences
    where tenant_id = ${tenantId} and key = any (${keys}::text[]) and status = 'active'`;
}

export function findAudience(tenantId: string, key: string) {
  return sql<AudienceRow>`
    select id, tenant_id, key, allowed_scopes, signing_algorithm, status from audiences
    where tenant_id = ${tenantId} and key = ${key}`;
}

export function lockAudience(tenantId: string, key: string) {
  return sql<AudienceRow>`
    select id, tenant_id, key, allowed_scopes, signing_algorithm, status from audiences
    where tenant_id = ${tenantId} and key = ${key}
    for no key update`;
}

export function updateAudienceRow({ id, allowed_scopes, signing_algorithm, status }: AudienceRow) {
  return sql`
    update audiences
    set allowed_scopes = ${allowed_scopes}, signing_algorithm = ${signing_algorithm}, status = ${status}
    where id = ${id}`;
}

/** Records that tokens may have been signed with an algorithm until now. */
export function upsertAlgorithmUse(algorithm: SigningAlgorithm) {
  return sql`
    insert into signing_algorithm_uses (algorithm, left_at) values (${algorithm}, now())
    on conflict (algorithm) do update set left_at = greatest(signing_algorithm_uses.left_at, excluded.left_at)`;
}
