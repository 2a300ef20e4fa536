import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { ConfigRevisionRow } from './config-revision.ts';

export function findRevision(tenantId: string, projectId: string, revision: number) {
  return sql<ConfigRevisionRow>`
    select * from project_config_revisions
    where project_id = ${projectId} and revision = ${revision} and tenant_id = ${tenantId}`;
}

export interface NewRevision {
  id: string;
  tenantId: string;
  projectId: string;
  config: object;
  /** Omits the time of the check, which the row stores separately. */
  checked: object;
  comment: string;
  createdBy: string;
}

/** Assigns the next revision number of the project, which is locked. */
export function insertRevision(revision: NewRevision) {
  return sql<ConfigRevisionRow>`
    with checked as materialized (select clock_timestamp()::timestamptz(3) as at)
    insert into project_config_revisions (id, tenant_id, project_id, revision, config, validation, comment, created_by,
      created_at)
    select ${revision.id}, ${revision.tenantId}, ${revision.projectId}, coalesce((
        select max(revision) from project_config_revisions where project_id = ${revision.projectId}), 0) + 1,
      ${JSON.stringify(revision.config)}, ${JSON.stringify(revision.checked)}::jsonb || jsonb_build_object('checkedAt',
        to_char(checked.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
      ${revision.comment}, ${revision.createdBy}, checked.at
    from checked
    returning *`;
}

export function updateToActivated(tenantId: string, id: string) {
  return sql`
    update project_config_revisions set activated_at = clock_timestamp() where id = ${id} and tenant_id = ${tenantId}`;
}

const build = queryBuilder<{ project_config_revisions: ConfigRevisionRow }>();

const newestFirst: ListOrder<ConfigRevisionRow> = {
  cursor: 'config_revisions',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findRevisions(tenantId: string, projectId: string, page: Page) {
  const query = build
    .selectFrom('project_config_revisions')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('project_id', '=', projectId);
  return pageQuery(query, newestFirst, page);
}
