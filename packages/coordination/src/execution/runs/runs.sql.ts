import { queryBuilder } from '@baton/kernel/db';
import { decodeCursor, type Page } from '@baton/kernel/paging';
import { compiled, sql } from '@baton/kernel/sql';
import type { RunRow } from '../../leases/lease-rows.ts';

export function findRun(tenantId: string, runId: string) {
  return sql<RunRow>`select * from runs where id = ${runId} and tenant_id = ${tenantId}`;
}

export interface RunFilter {
  taskId?: string | undefined;
  claimId?: string | undefined;
  principalId?: string | undefined;
  status?: RunRow['status'] | undefined;
}

const build = queryBuilder<{ runs: RunRow }>();
export const runsNewestFirst = 'runs';

/** One page and one row more, newest first. */
export function listRuns(tenantId: string, filter: RunFilter, page: Page) {
  let query = build
    .selectFrom('runs')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (filter.taskId !== undefined) query = query.where('task_id', '=', filter.taskId);
  if (filter.claimId !== undefined) query = query.where('claim_id', '=', filter.claimId);
  if (filter.principalId !== undefined) query = query.where('principal_id', '=', filter.principalId);
  if (filter.status !== undefined) query = query.where('status', '=', filter.status);
  if (page.cursor !== undefined) {
    const [startedAt, id] = decodeCursor(runsNewestFirst, page.cursor, ['timestamp', 'uuid']);
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('started_at', 'id'), '<', tuple(startedAt as string, id as string)),
    );
  }
  return compiled(query);
}
