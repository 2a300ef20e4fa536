import { sql } from '@baton/kernel/sql';
import type { ListedViewRow, ViewRow } from './view.ts';

/** The views that a tenant has, by key: all of them, or those of a package. */
export function findViews(tenantId: string, packageKey: string | null, rowsMax: number) {
  return sql<ListedViewRow>`
    select v.id, v.tenant_id, v.key, v.version, v.created_at, v.updated_at, v.spec ->> 'title' as title,
      v.spec -> 'titles' as titles, case when o.key is not null then package_link(o) end as package
    from views v
    left join package_objects o on o.tenant_id = v.tenant_id and o.kind = 'View' and o.key = v.key
    where v.tenant_id = ${tenantId} and v.status = 'active'
      and (${packageKey}::text is null or o.package_key = ${packageKey}::text)
    order by v.key limit ${rowsMax}`;
}

export function findView(tenantId: string, key: string) {
  return sql<ViewRow>`
    select v.*, case when o.key is not null then package_link(o) end as package
    from views v
    left join package_objects o on o.tenant_id = v.tenant_id and o.kind = 'View' and o.key = v.key
    where v.tenant_id = ${tenantId} and v.key = ${key} and v.status = 'active'`;
}
