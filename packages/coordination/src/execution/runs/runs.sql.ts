import { queryBuilder } from '@baton/kernel/database/db';
import {
  condition,
  fragment,
  type ListOrder,
  matching,
  mergedPageQuery,
  ownedPageQuery,
  type PageQuery,
  pageQuery,
  rowsWhere,
} from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import type { RunRow } from '../../leases/lease-rows.ts';
import { type SeenList, tasksSeenBy } from '../../service/sight/places.ts';

/** A run, and whether it is running without a live claim. */
export type FoundRunRow = RunRow & { orphaned: boolean };

export function findRun(tenantId: string, runId: string) {
  return sql<FoundRunRow>`
    select runs.*, runs.status = 'running' and not exists (
      select from tasks t join sessions s on s.id = runs.session_id
      where t.id = runs.task_id and t.active_claim_id = runs.claim_id and t.lease_expires_at > now()
        and s.status = 'active' and s.expires_at > now()) as orphaned
    from runs where id = ${runId} and tenant_id = ${tenantId}`;
}

export function findNewestOutput(tenantId: string, taskId: string) {
  return sql<{ output: JsonObject | null }>`
    select case when status = 'succeeded' then output end as output from runs
    where task_id = ${taskId} and tenant_id = ${tenantId}
    order by started_at desc, id desc limit 1`;
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

export function listOfRuns(tenantId: string, filter: RunFilter, stalled: boolean): SeenList<FoundRunRow> {
  return {
    all: (page) => findRuns(tenantId, filter, stalled, page),
    filedBy: 'task',
    seen: (viewerId, page) => {
      const runs = rowsWhere('runs', condition`task_id = owner.id`).as('runs');
      const found = foundIn(runs as unknown as 'runs', tenantId, filter);
      const part = stalled
        ? found
            .where('status', '=', 'running')
            .where(condition`(stalled_at is not null or stalls_at <= now())`)
        : found;
      return ownedPageQuery(
        [{ owners: tasksSeenBy(tenantId, viewerId), part, headsFirst: false }],
        newestFirst,
        page,
      );
    },
    lookups: (viewerId) => tasksSeenBy(tenantId, viewerId),
  };
}

function findRuns(tenantId: string, filter: RunFilter, stalled: boolean, page: Page): PageQuery<FoundRunRow> {
  const found = foundIn('runs', tenantId, filter);
  if (!stalled) return pageQuery(found, newestFirst, page);
  const running = found.where('status', '=', 'running');
  const parts = [
    running.where('stalled_at', 'is not', null),
    // Stalls that the sweeper hasn't recorded yet; they are usually from the last second.
    running.where('stalled_at', 'is', null).where(condition`stalls_at <= now()`),
  ];
  return mergedPageQuery(parts, newestFirst, page);
}

function foundIn(source: 'runs', tenantId: string, filter: RunFilter) {
  return matching(
    build.selectFrom(source).selectAll().select(orphaned).where('tenant_id', '=', tenantId),
    filter,
  );
}
