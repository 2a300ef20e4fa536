import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { changeReason, changesOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type NewTenant,
  type TenantChange,
  type TenantQuery,
  type TenantRow,
  tenantOf,
  tenantPages,
} from './tenant.ts';
import { tenantCreated, tenantUpdated } from './tenants.events.ts';
import {
  findTenant,
  findTenants,
  findTenantsByIdOrSlug,
  insertTenant,
  lockTenant,
  updateTenantRow,
} from './tenants.sql.ts';

/** @throws Refusal `tenant_id_exists`, `tenant_slug_exists` */
export async function createTenant(context: Context, { slug, name, id }: NewTenant): Promise<TenantRow> {
  const wanted = { id: id ?? randomUUID(), slug, name };
  const tenant = await context.db.row(insertTenant(wanted));
  if (tenant === undefined) {
    const rivals = await context.db.rows(findTenantsByIdOrSlug(wanted));
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

export function listTenants(db: Db, query: TenantQuery) {
  return tenantPages.read(query, (page) => db.rows(findTenants(query, page)), tenantOf);
}

/** @throws Refusal `tenant_not_found` */
export async function getTenant(db: Db, tenantId: string): Promise<TenantRow> {
  return (await db.row(findTenant(tenantId))) ?? fail('tenant_not_found');
}

/**
 * Renames, disables or enables a tenant. Every use of a credential reads the tenant's status, so disabling takes effect
 * when this transaction commits; nothing is revoked.
 * @throws Refusal `tenant_not_found`
 */
export async function updateTenant(
  context: Context,
  tenantId: string,
  changes: TenantChange,
): Promise<TenantRow> {
  const tenant = (await context.db.row(lockTenant(tenantId))) ?? fail('tenant_not_found');
  const changed = changesOf(tenant, changes);
  if (Object.keys(changed).length === 0) return tenant;
  const next = { ...tenant, ...changed };
  await context.db.run(updateTenantRow(next));
  const { slug, status } = next;
  emit(context, tenantUpdated, { tenantId, aggregateId: tenantId }, { tenantId, slug, status });
  const resource = ['tenant', tenantId] as const;
  audit(context, { tenantId, action: 'tenants.update', resource, reason: changeReason(changed) });
  return next;
}

export async function tenantExists(db: Db, tenantId: string): Promise<boolean> {
  return (await db.row(findTenant(tenantId))) !== undefined;
}

/**
 * @throws Refusal `tenant_not_found` for a tenant that is absent or not active
 */
export async function refuseClosedTenant(db: Db, tenantId: string): Promise<void> {
  const tenant = await db.row(findTenant(tenantId));
  if (tenant?.status !== 'active') fail('tenant_not_found');
}
