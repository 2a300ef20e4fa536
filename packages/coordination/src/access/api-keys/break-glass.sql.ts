import { sql } from '@baton/kernel/database/sql';
import type { ApiKeyRow } from './api-key.ts';

/** Finds a principal in any tenant, for an operator's command. */
export function findGrantee(principalId: string) {
  return sql<{ id: string; tenant_id: string; kind: string; status: string }>`
    select id, tenant_id, kind, status from principals where id = ${principalId}`;
}

export function findTenantsWithEmergencyKeys() {
  return sql<{ tenant_id: string }>`
    select distinct tenant_id from api_keys
    where key_prefix like 'bg%' and revoked_at is null and (expires_at is null or expires_at > now())
    order by tenant_id`;
}

export function updateEmergencyKeysToRevoked(tenantId: string) {
  return sql<ApiKeyRow>`
    update api_keys set revoked_at = now()
    where tenant_id = ${tenantId} and key_prefix like 'bg%' and revoked_at is null
      and (expires_at is null or expires_at > now())
    returning *`;
}
