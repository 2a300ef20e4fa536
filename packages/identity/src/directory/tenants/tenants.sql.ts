import { sql } from '@baton/kernel/database/sql';
import type { CreatedPage } from '../../service/pages.ts';
import type { TenantRow } from './tenant.ts';

/** Returns no row if the id or the slug is taken; waits for a transaction that is taking one of them. */
export function insertTenant({ id, slug, name }: { id: string; slug: string; name: string }) {
  return sql<TenantRow>`
    insert into tenants (id, slug, name) values (${id}, ${slug}, ${name})
    on conflict do nothing
    returning id, slug, name, status, created_at`;
}

export function findTenantsByIdOrSlug({ id, slug }: { id: string; slug: string }) {
  return sql<Pick<TenantRow, 'id'>>`select id from tenants where id = ${id} or slug = ${slug}`;
}

export function findTenant(tenantId: string) {
  return sql<TenantRow>`select id, slug, name, status, created_at from tenants where id = ${tenantId}`;
}

export interface TenantFilter {
  status?: TenantRow['status'] | undefined;
  slug?: string | undefined;
}

/** Reads one row more than the page size. */
export function findTenants(filter: TenantFilter, page: CreatedPage) {
  const [status, slug] = [filter.status ?? null, filter.slug ?? null];
  return sql<TenantRow>`
    select id, slug, name, status, created_at from tenants
    where (created_at, id) > (${page.after[0]}::timestamptz, ${page.after[1]}::uuid)
      and (${status}::text is null or status = ${status}::text)
      and (${slug}::text is null or slug = ${slug}::text)
    order by created_at, id
    limit ${page.limit + 1}`;
}

/** Locks a tenant. Waits for other changes to it; inserts of rows that only refer to the tenant don't wait. */
export function lockTenant(tenantId: string) {
  return sql<TenantRow>`
    select id, slug, name, status, created_at from tenants where id = ${tenantId} for no key update`;
}

export function updateTenantRow({ id, name, status }: TenantRow) {
  return sql`update tenants set name = ${name}, status = ${status} where id = ${id}`;
}
