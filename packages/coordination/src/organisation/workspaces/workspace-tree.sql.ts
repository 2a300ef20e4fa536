import { sql } from '@baton/kernel/database/sql';
import type { TreeRow } from './tree-node.ts';

export interface TreeQuery {
  /** null: all of the tenant's roots. */
  readonly rootId: string | null;
  readonly depthMax: number;
  readonly includeArchived: boolean;
  readonly rootsMax: number;
  readonly nodesMax: number;
  /** For a viewer who sees only part of the tree, the topmost visible workspaces are the roots. */
  readonly viewerId: string | null;
  /** Slug and id of the last root of the previous page; both empty for the first page. */
  readonly after: readonly [slug: string, id: string];
}

/**
 * Returns the nodes level by level: PostgreSQL derives each level from the previous one and stops at the limit. One
 * extra root and one extra node indicate more rows.
 */
export function findTree(tenantId: string, query: TreeQuery) {
  const [slug, id] = query.after;
  return sql<TreeRow>`
    with recursive roots as materialized (
      select id, case when sees_workspace(${query.viewerId}, parent_id) then parent_id end as parent_id, slug, name, status,
        version, type_id
      from workspaces
      where tenant_id = ${tenantId} and (${query.includeArchived} or status = 'active')
        and id in (
          select ${query.rootId}::uuid
          union all
          select id from workspaces
          where ${query.rootId}::uuid is null and ${query.viewerId}::uuid is null and tenant_id = ${tenantId}
            and parent_id is null
          union all
          -- The viewer's own workspaces that have no visible ancestor.
          select id from workspaces
          where ${query.rootId}::uuid is null and id = any (
              array(select workspace_id from workspace_members where principal_id = ${query.viewerId}::uuid))
            and (parent_id is null or parent_id not in (select seen.id from workspaces_seen_by(${query.viewerId}) as seen (id))))
        and (slug, id) > (${slug}, ${id})
      order by slug, id limit ${query.rootsMax + 1}
    ), tree as (
      select *, 0 as depth, row_number() over (order by slug, id) as root_number from roots
      union all
      select below.*, above.depth + 1, above.root_number
      from tree above cross join lateral (
        select id, parent_id, slug, name, status, version, type_id from workspaces
        where tenant_id = ${tenantId} and parent_id = above.id and (${query.includeArchived} or status = 'active')
        order by slug, id limit ${query.nodesMax + 2}
      ) below
      where above.depth < ${query.depthMax} and above.root_number <= ${query.rootsMax}
    )
    select tree.*, (select key from workspace_types t where t.id = tree.type_id) as type_key, (
        select jsonb_build_object('id', p.id, 'statusKey', p.status_key, 'systemStatusCategory', p.system_status_category,
          'status', p.status, 'templateKey', p.template_key, 'templateVersion', p.template_version)
        from projects p where p.workspace_id = tree.id) as project
    from tree limit ${query.nodesMax + 2}`;
}
