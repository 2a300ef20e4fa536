import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { CapabilityRow } from './capability.ts';

/** Returns no row when the tenant already has a capability with this name. */
export function insertCapability(capability: {
  id: string;
  tenantId: string;
  name: string;
  description: string;
}) {
  return sql<CapabilityRow>`
    insert into capabilities (id, tenant_id, name, description)
    values (${capability.id}, ${capability.tenantId}, ${capability.name}, ${capability.description})
    on conflict (tenant_id, name) do nothing
    returning *`;
}

export function findCapability(tenantId: string, id: string) {
  return sql<CapabilityRow>`select * from capabilities where id = ${id} and tenant_id = ${tenantId}`;
}

export function lockCapability(tenantId: string, id: string) {
  return sql<CapabilityRow>`
    select * from capabilities where id = ${id} and tenant_id = ${tenantId} for no key update`;
}

export function updateCapabilityValues(
  tenantId: string,
  id: string,
  values: { name: string; description: string },
) {
  return sql<CapabilityRow>`
    update capabilities
    set name = ${values.name}, description = ${values.description}, version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

const build = queryBuilder<{ capabilities: CapabilityRow }>();

const newestFirst: ListOrder<CapabilityRow> = {
  cursor: 'capabilities',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findCapabilities(tenantId: string, packageKey: string | undefined, page: Page) {
  const query = build.selectFrom('capabilities').selectAll().where('tenant_id', '=', tenantId);
  return pageQuery(matching(query, { package_key: packageKey }), newestFirst, page);
}
