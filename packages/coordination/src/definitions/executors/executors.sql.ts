import { queryBuilder } from '@baton/kernel/database/db';
import { condition, type ListOrder, pageQuery } from '@baton/kernel/database/list';
import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { Tables } from '../../service/schema.ts';

type PrincipalColumns = Pick<
  RowOf<Tables['principals']>,
  'id' | 'tenant_id' | 'kind' | 'display_name' | 'status' | 'created_at'
>;

/** The workspace and the type of the tasks, and the viewer. */
export interface WorkPlace {
  readonly tenantId: string;
  readonly workspaceId: string;
  /** The ids of the workspace and of its ancestors. */
  readonly path: readonly string[];
  /** The project of the workspace. */
  readonly projectId: string | null;
  readonly typeKey: string;
  /** Restricts the result to the viewer's workspaces; null for unrestricted. */
  readonly viewerId: string | null;
}

const build = queryBuilder<{ principals: PrincipalColumns }>();

const newestFirst: ListOrder<PrincipalColumns> = {
  cursor: 'task_type_executors',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

/** The active members of a workspace, and the agents that work there on tasks of the type, without duplicates. */
export function findExecutors(place: WorkPlace, page: Page) {
  const { tenantId, workspaceId, path, projectId, typeKey, viewerId } = place;
  const query = build
    .selectFrom('principals')
    .select(['id', 'tenant_id', 'kind', 'display_name', 'status', 'created_at'])
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'active')
    .where(
      condition`id in (
        select principal_id from workspace_members where workspace_id = ${workspaceId}
        union
        select principal_id
        from agents_at_work(${tenantId}, ${workspaceId}, ${path}::uuid[], ${projectId}, ${typeKey}, ${viewerId}))`,
    );
  return pageQuery(query, newestFirst, page);
}

/**
 * Of the given principals, returns those that are agents working in the workspace, and whether their specs list the
 * type.
 */
export function findAgentsAtWork(place: WorkPlace, principalIds: readonly string[]) {
  return sql<{ principal_id: string; names_type: boolean }>`
    select principal_id, names_type
    from agents_at_work(${place.tenantId}, ${place.workspaceId}, ${place.path}::uuid[], ${place.projectId}, ${place.typeKey},
      ${place.viewerId})
    where principal_id = any (${principalIds}::uuid[])`;
}
