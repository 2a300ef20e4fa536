import { queryBuilder } from '@baton/kernel/db';
import {
  condition,
  fragment,
  type ListOrder,
  matching,
  mergedPageQuery,
  pageQuery,
} from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { sql } from '@baton/kernel/sql';
import type { RunRow } from '../../leases/lease-rows.ts';
import { inSightOfTask } from '../../service/sight/sight.ts';

/** A run, and whether it runs on without a live claim. */
export type FoundRunRow = RunRow & { orphaned: boolean };

export function findRun(tenantId: string, runId: string) {
  return sql<FoundRunRow>`
    select runs.*, runs.status = 'running' and not exists (
      select from tasks t join sessions s on s.id = runs.session_id
      where t.id = runs.task_id and t.active_claim_id = runs.claim_id and t.lease_expires_at > now()
        and s.status = 'active' and s.expires_at > now()) as orphaned
    from runs where id = ${runId} and tenant_id = ${tenantId}`;
}

const build = queryBuilder<{ runs: RunRow }>();

const orphaned = fragment<boolean>`runs.status = 'running' and not exists (
  select from tasks t join sessions s on s.id = runs.session_id
  where t.id = runs.task_id and t.active_claim_id = runs.claim_id and t.lease_expires_at > now()
    and s.status = 'active' and s.expires_at > now())`.as('orphaned');

const newestFirst: ListOrder<FoundRunRow> = {
  cursor: 'runs',
  columns: { started_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

type FilterColumn = 'task_id' | 'claim_id' | 'principal_id' | 'status';
export type RunFilter = { readonly [Column in FilterColumn]: string | undefined };

export function findRuns(
  tenantId: string,
  filter: RunFilter,
  { viewerId, stalled }: { viewerId: string | null; stalled: boolean },
  page: Page,
) {
  const query = build.selectFrom('runs').selectAll().select(orphaned).where('tenant_id', '=', tenantId);
  const found = inSightOfTask(matching(query, filter), viewerId, 'runs.task_id');
  if (!stalled) return pageQuery(found, newestFirst, page);
  const running = found.where('status', '=', 'running');
  const parts = [
    running.where('stalled_at', 'is not', null),
    // What no sweeper has come by for; usually the last second's.
    running.where('stalled_at', 'is', null).where(condition`stalls_at <= now()`),
  ];
  return mergedPageQuery(parts, newestFirst, page);
}
