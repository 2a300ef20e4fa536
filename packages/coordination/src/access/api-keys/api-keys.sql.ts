import { sql } from '@baton/kernel/database/sql';
import type { ApiKeyRow } from './api-key.ts';

export interface NewKey {
  id: string;
  tenantId: string;
  principalId: string;
  prefix: string;
  hash: string;
  permissions: readonly string[];
  /** The expiry time or the lifetime; without either, the key never expires. */
  expiresAt: string | null;
  lifeSeconds: number | null;
}

export function insertApiKey(key: NewKey) {
  return sql<ApiKeyRow>`
    insert into api_keys (id, tenant_id, principal_id, key_prefix, key_hash, permissions, expires_at)
    values (${key.id}, ${key.tenantId}, ${key.principalId}, ${key.prefix}, ${key.hash}, ${key.permissions},
      coalesce(${key.expiresAt}::timestamptz, now() + make_interval(secs => ${key.lifeSeconds})))
    returning *`;
}

/** Returns no row for a key that is already revoked. */
export function updateApiKeyToRevoked(tenantId: string, keyId: string) {
  return sql<ApiKeyRow>`
    update api_keys set revoked_at = now()
    where id = ${keyId} and tenant_id = ${tenantId} and revoked_at is null
    returning *`;
}

export function findApiKey(tenantId: string, keyId: string) {
  return sql<ApiKeyRow>`select * from api_keys where id = ${keyId} and tenant_id = ${tenantId}`;
}

/** API keys that are accepted while their principal is active. */
export function findLiveApiKeys(tenantId: string, principalId: string) {
  return sql<{ permissions: string[] }>`
    select permissions from api_keys
    where principal_id = ${principalId} and tenant_id = ${tenantId} and revoked_at is null
      and (expires_at is null or expires_at > now())`;
}
