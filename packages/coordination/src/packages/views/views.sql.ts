import { sql } from '@baton/kernel/database/sql';
import type { ListedViewRow, ViewRow } from './view.ts';

/**
 * The views of a tenant, by key: all of them, or those of a package.
 * @param languages the preferred languages of their titles, in order
 */
export function findViews(
  tenantId: string,
  packageKey: string | null,
  languages: readonly string[],
  rowsMax: number,
) {
  return sql<ListedViewRow>`
    select v.id, v.tenant_id, v.key, v.version, v.created_at, v.updated_at,
      coalesce((
        select t.value from json_each_text(v.titles) as t where lower(t.key) = any (${languages}::text[])
        order by array_position(${languages}::text[], lower(t.key)) limit 1
      ), v.title) as title,
      case when o.key is not null then package_link(o) end as package
    from views v
    left join package_objects o on o.tenant_id = v.tenant_id and o.kind = 'View' and o.key = v.key
    where v.tenant_id = ${tenantId} and v.status = 'active'
      and (${packageKey}::text is null or o.package_key = ${packageKey}::text)
    order by v.key limit ${rowsMax}`;
}

export function findView(tenantId: string, key: string) {
  return sql<ViewRow>`
    select v.id, v.tenant_id, v.key, v.version, v.status, v.spec, v.created_at, v.updated_at, v.title, v.titles,
      case when o.key is not null then package_link(o) end as package
    from views v
    left join package_objects o on o.tenant_id = v.tenant_id and o.kind = 'View' and o.key = v.key
    where v.tenant_id = ${tenantId} and v.key = ${key} and v.status = 'active'`;
}
