import { sql } from '@baton/kernel/sql';
import type { ApiKeyRow } from './api-key.ts';

export interface NewKey {
  id: string;
  tenantId: string;
  principalId: string;
  prefix: string;
  hash: string;
  permissions: readonly string[];
  /** When it ends, or after how long; neither is never. */
  expiresAt: string | null;
  lifeSeconds: number | null;
}

export function insertKey(key: NewKey) {
  return sql<ApiKeyRow>`
    insert into api_keys (id, tenant_id, principal_id, key_prefix, key_hash, permissions, expires_at)
    values (${key.id}, ${key.tenantId}, ${key.principalId}, ${key.prefix}, ${key.hash}, ${key.permissions},
      coalesce(${key.expiresAt}::timestamptz, now() + make_interval(secs => ${key.lifeSeconds})))
    returning *`;
}
