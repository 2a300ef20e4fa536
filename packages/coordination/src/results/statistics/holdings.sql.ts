import { part, sql } from '@baton/kernel/database/sql';
import type { FigureScope } from './range.ts';
import { isTaskCounted, placesOf } from './scope.sql-parts.ts';

export interface HoldingRow {
  id: string;
  task_id: string;
  public_id: string;
  title: string;
  workspace_id: string | null;
  holder_id: string;
  acquired_at: string;
  /** Null while the lease is live. */
  ended_at: string | null;
  end_reason: string | null;
}

/** The scope, the period and the holder of a list of claims; all holders if `principalId` is null. */
export interface HoldingFilter {
  readonly of: FigureScope;
  readonly from: string;
  readonly to: string;
  readonly principalId: string | null;
}

/**
 * The claims that were live within a period, newest first. An expired lease ended when it expired, not when that was
 * recorded.
 */
export function findHoldings(filter: HoldingFilter, rowsMax: number) {
  return sql<HoldingRow>`
    with ${placesOf(filter.of)}
    select * from (
      select ${holdingColumns}, least(c.released_at, c.expires_at) as ended_at,
        -- Only a stale claim has expired; a caller who releases one may give the same word as the reason.
        case when c.status <> 'stale' and c.release_reason in ('expired', 'session_inactive') then 'released'
          else c.release_reason end as end_reason
      from claims c join tasks t on t.id = c.task_id
      where ${isWithin(filter)} and c.released_at > ${filter.from}::timestamptz and c.expires_at > ${filter.from}::timestamptz
      union all
      select ${holdingColumns}, case when c.expires_at <= clock_timestamp() then c.expires_at end,
        case when c.expires_at <= clock_timestamp() then 'expired' end
      from claims c join tasks t on t.id = c.task_id
      where ${isWithin(filter)} and c.status = 'active' and c.expires_at > ${filter.from}::timestamptz
    ) as held
    order by acquired_at desc, id desc limit ${rowsMax}`;
}

const holdingColumns = part`
  c.id, c.task_id, t.public_id, t.title, t.workspace_id, c.holder_id, c.acquired_at`;

/** Whether the claim `c` of the task `t` began before the end of the period, and fits the other filters. */
const isWithin = ({ of, to, principalId }: HoldingFilter) => part`
  c.tenant_id = ${of.tenantId} and c.acquired_at < ${to}::timestamptz
    and (${principalId}::uuid is null or c.holder_id = ${principalId}::uuid) and ${isTaskCounted(of)}`;
