import { queryBuilder } from '@baton/kernel/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { sql } from '@baton/kernel/sql';
import type { RunRow } from '../../leases/lease-rows.ts';

export function findRun(tenantId: string, runId: string) {
  return sql<RunRow>`select * from runs where id = ${runId} and tenant_id = ${tenantId}`;
}

const build = queryBuilder<{ runs: RunRow }>();

const newestFirst: ListOrder<RunRow> = {
  cursor: 'runs',
  columns: { started_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

type FilterColumn = 'task_id' | 'claim_id' | 'principal_id' | 'status';
export type RunFilter = { readonly [Column in FilterColumn]: string | undefined };

export function findRuns(tenantId: string, filter: RunFilter, page: Page) {
  const query = build.selectFrom('runs').selectAll().where('tenant_id', '=', tenantId);
  return pageQuery(matching(query, filter), newestFirst, page);
}
