import { queryBuilder } from '@baton/kernel/db';
import { condition, type ListOrder, pageQuery } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import type { RowOf } from '@baton/kernel/row';
import type { Tables } from '../../service/schema.ts';

type PrincipalColumns = Pick<
  RowOf<Tables['principals']>,
  'id' | 'tenant_id' | 'kind' | 'display_name' | 'status' | 'created_at'
>;

const build = queryBuilder<{ principals: PrincipalColumns }>();

const newestFirst: ListOrder<PrincipalColumns> = {
  cursor: 'task_type_executors',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

/** The active members of a workspace. */
export function findActiveMembers(tenantId: string, workspaceId: string, page: Page) {
  const query = build
    .selectFrom('principals')
    .select(['id', 'tenant_id', 'kind', 'display_name', 'status', 'created_at'])
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'active')
    .where(condition`id in (select principal_id from workspace_members where workspace_id = ${workspaceId})`);
  return pageQuery(query, newestFirst, page);
}
