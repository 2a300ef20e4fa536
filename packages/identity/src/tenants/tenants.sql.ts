import { sql } from '@baton/kernel/sql';

export interface TenantRow {
  id: string;
  slug: string;
  name: string;
  status: 'active' | 'disabled';
  created_at: string;
}

/** No row when the id or the slug is taken; a rival that takes one at this moment is waited for. */
export function insertTenant({ id, slug, name }: { id: string; slug: string; name: string }) {
  return sql<TenantRow>`
    insert into tenants (id, slug, name) values (${id}, ${slug}, ${name})
    on conflict do nothing
    returning id, slug, name, status, created_at`;
}

export function findTenantsLike({ id, slug }: { id: string; slug: string }) {
  return sql<{ id: string }>`select id from tenants where id = ${id} or slug = ${slug}`;
}

export function findTenant(tenantId: string) {
  return sql<TenantRow>`select id, slug, name, status, created_at from tenants where id = ${tenantId}`;
}
