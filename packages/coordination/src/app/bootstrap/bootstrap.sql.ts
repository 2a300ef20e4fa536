import { sql } from '@baton/kernel/sql';
import type { PrincipalRow } from '../../access/principals/principal.ts';

/** Held until the commit: of two that bootstrap at once, the second sees the first one's tenant. */
export function lockTenants() {
  return sql`lock table tenants in share row exclusive mode`;
}

export function anyTenant() {
  return sql<{ id: string }>`select id from tenants limit 1`;
}

export interface TenantRow {
  id: string;
  slug: string;
  name: string;
  created_at: string;
  updated_at: string;
}

export function tenantById(tenantId: string) {
  return sql<TenantRow>`select id, slug, name, created_at, updated_at from tenants where id = ${tenantId}`;
}

export function adminOf(tenantId: string, principalId: string) {
  return sql<PrincipalRow>`select * from principals where id = ${principalId} and tenant_id = ${tenantId}`;
}
