import { sql } from '@baton/kernel/database/sql';
import type { PrincipalRow } from '../../access/principals/principal.ts';
import type { TenantRow } from './tenant.ts';

/** Held until the commit: of two concurrent requests, the second sees the first one's tenant. */
export function lockTenants() {
  return sql`lock table tenants in share row exclusive mode`;
}

export function findAnyTenant() {
  return sql<{ id: string }>`select id from tenants limit 1`;
}

export function findTenant(tenantId: string) {
  return sql<TenantRow>`select * from tenants where id = ${tenantId}`;
}

export function findAdmin(tenantId: string, principalId: string) {
  return sql<PrincipalRow>`select * from principals where id = ${principalId} and tenant_id = ${tenantId}`;
}
