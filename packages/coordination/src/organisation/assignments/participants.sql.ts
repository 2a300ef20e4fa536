import { queryBuilder } from '@baton/kernel/database/db';
import { condition, fragment, type ListOrder, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { RoleHolderRow } from '../roles/role.ts';
import type { Participant } from './participant.ts';

/** A workspace, with the ids of its path from the root. */
export interface Place {
  readonly tenantId: string;
  readonly workspaceId: string;
  readonly path: readonly string[];
}

const build = queryBuilder<{ principals: RoleHolderRow & { tenant_id: string } }>();

const newestFirst: ListOrder<RoleHolderRow> = {
  cursor: 'participants',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

/** The query starts at the workspace and its roles, so that each lookup uses an index. */
export function findParticipants({ tenantId, workspaceId, path }: Place, page: Page) {
  const taking = fragment`
    select principal_id from workspace_members where workspace_id = ${workspaceId}
    union select principal_id from role_assignments where workspace_id = ${workspaceId}
    union select ra.principal_id from roles r join role_assignments ra on ra.role_id = r.id
    where r.workspace_id = ${workspaceId} and (ra.workspace_id is null or ra.workspace_id = any (${path}::uuid[]))`;
  const query = build
    .selectFrom('principals')
    .select(['id', 'kind', 'display_name', 'status', 'created_at'])
    .where('tenant_id', '=', tenantId)
    .where(condition`id in (${taking})`);
  return pageQuery(query, newestFirst, page);
}

/**
 * Membership and roles of each principal in the workspace, without roles that belong to workspaces that the viewer may
 * not see. If a role was assigned in an ancestor that the viewer may not see, the assignment's workspace is null, like
 * the parent of a workspace.
 */
export function findPartsOf(
  { tenantId, workspaceId, path }: Place,
  principalIds: readonly string[],
  rolesMax: number,
  viewerId: string | null,
) {
  return sql<{ principal_id: string; is_member: boolean; roles: Participant['roles'] }>`
    select p.id as principal_id,
      exists (select from workspace_members m where m.workspace_id = ${workspaceId} and m.principal_id = p.id) as is_member,
      coalesce((
        select jsonb_agg(jsonb_build_object('roleId', x.id, 'slug', x.slug, 'name', x.name,
          'roleWorkspaceId', x.workspace_id, 'assignmentWorkspaceId', x.given_in) order by x.slug, x.id)
        from (
          select r.id, r.slug, r.name, r.workspace_id,
            case when sees_workspace(${viewerId}, ra.workspace_id) then ra.workspace_id end as given_in
          from role_assignments ra join roles r on r.id = ra.role_id
          where ra.principal_id = p.id and sees_workspace(${viewerId}, r.workspace_id) and (ra.workspace_id = ${workspaceId}
            or r.workspace_id = ${workspaceId} and (ra.workspace_id is null or ra.workspace_id = any (${path}::uuid[])))
          order by r.slug, r.id limit ${rolesMax}
        ) x), '[]') as roles
    from principals p where p.tenant_id = ${tenantId} and p.id = any (${principalIds}::uuid[])`;
}
