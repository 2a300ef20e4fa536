import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/db';
import { audit } from '../audit.ts';
import type { Context } from '../context.ts';
import { emit } from '../journal/journal.ts';
import { fail } from '../service.ts';
import type { TenantRequest } from './tenants.api.ts';
import { tenantCreated } from './tenants.events.ts';
import { findTenant, findTenantsLike, insertTenant, type TenantRow } from './tenants.sql.ts';

export async function createTenant(context: Context, { slug, name, id }: TenantRequest): Promise<TenantRow> {
  const wanted = { id: id ?? randomUUID(), slug, name };
  const tenant = await context.db.row(insertTenant(wanted));
  if (tenant === undefined) {
    const rivals = await context.db.rows(findTenantsLike(wanted));
    fail(rivals.some((rival) => rival.id === wanted.id) ? 'tenant_id_exists' : 'tenant_slug_exists');
  }
  emit(
    context,
    tenantCreated,
    { tenantId: tenant.id, aggregateId: tenant.id },
    { tenantId: tenant.id, slug },
  );
  audit(context, { tenantId: tenant.id, action: 'tenants.create', resource: ['tenant', tenant.id] });
  return tenant;
}

export async function tenantExists(db: Db, tenantId: string): Promise<boolean> {
  return (await db.row(findTenant(tenantId))) !== undefined;
}

/** @throws Refusal `tenant_not_found` for one that is absent or not active */
export async function refuseClosedTenant(db: Db, tenantId: string): Promise<void> {
  const tenant = await db.row(findTenant(tenantId));
  if (tenant?.status !== 'active') fail('tenant_not_found');
}
