import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { WorkspaceMemberRow } from './member.ts';

/** Returns no row when the principal is already a member; waits for a concurrent insert of the same membership. */
export function insertMember(member: {
  id: string;
  tenantId: string;
  workspaceId: string;
  principalId: string;
}) {
  return sql<WorkspaceMemberRow>`
    insert into workspace_members (id, tenant_id, workspace_id, principal_id)
    values (${member.id}, ${member.tenantId}, ${member.workspaceId}, ${member.principalId})
    on conflict (workspace_id, principal_id) do nothing
    returning *`;
}

export function findMember(tenantId: string, workspaceId: string, principalId: string) {
  return sql<WorkspaceMemberRow>`
    select * from workspace_members
    where workspace_id = ${workspaceId} and principal_id = ${principalId} and tenant_id = ${tenantId}`;
}

export function deleteMember(tenantId: string, workspaceId: string, principalId: string) {
  return sql<{ id: string }>`
    delete from workspace_members
    where workspace_id = ${workspaceId} and principal_id = ${principalId} and tenant_id = ${tenantId}
    returning id`;
}

const build = queryBuilder<{ workspace_members: WorkspaceMemberRow }>();

const newestFirst: ListOrder<WorkspaceMemberRow> = {
  cursor: 'workspace_members',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findMembers(tenantId: string, workspaceId: string, page: Page) {
  const query = build
    .selectFrom('workspace_members')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('workspace_id', '=', workspaceId);
  return pageQuery(query, newestFirst, page);
}
