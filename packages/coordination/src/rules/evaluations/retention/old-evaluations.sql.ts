import { sql } from '@baton/kernel/database/sql';
import type { QueuePosition } from '../../../service/queue-walk.ts';

export type OldEvaluationRow = { id: string; tenant_id: string; updated_at: string };

/** Evaluations of all tenants that ended before the start of the retention period. */
export function findOldEvaluations([updatedAt, id]: QueuePosition, ageSeconds: number, rowsMax: number) {
  return sql<OldEvaluationRow>`
    select id, tenant_id, updated_at from rule_evaluations
    where status <> 'waiting' and updated_at < now() - make_interval(secs => ${ageSeconds}::integer)
      and (updated_at, id) > (${updatedAt}::timestamptz, ${id}::uuid)
    order by updated_at, id limit ${rowsMax}`;
}

/**
 * Deletes the given evaluations whose cause the tenant's rules can't read again. A turn that ended or failed in the
 * middle of an event reads that event again; the event is then among the next `nextEventsMax` after the cursor.
 */
export function deleteEvaluations(
  ids: readonly string[],
  tenantIds: readonly string[],
  consumer: string,
  nextEventsMax: number,
) {
  return sql<{ id: string }>`
    with next as materialized (
      select e.id from event_consumers c cross join lateral (
        select id from events
        where tenant_id = c.tenant_id and (position, sequence) > (c.position, c.sequence)
        order by position, sequence limit ${nextEventsMax}
      ) e
      where c.consumer = ${consumer} and c.tenant_id = any (${tenantIds}::uuid[])
    )
    delete from rule_evaluations v
    using unnest(${ids}::uuid[], ${tenantIds}::uuid[]) as old (id, tenant_id)
    where v.id = old.id and v.tenant_id = old.tenant_id and v.status <> 'waiting'
      and (v.trigger_event_id is null or v.trigger_event_id not in (select id from next))
    returning v.id`;
}

/**
 * Examines the keys that have not been examined within the retention period, and deletes those whose task has been
 * closed for at least that period, or that have no task. Keys that a rule has locked are skipped.
 */
export function deleteOldWorkKeyRows(ageSeconds: number, rowsMax: number) {
  return sql<{ looked: number }>`
    with old as materialized (
      select tenant_id, dedup_key, task_id from rule_work
      where looked_at < now() - make_interval(secs => ${ageSeconds}::integer)
      order by looked_at limit ${rowsMax}
      for update skip locked
    ), judged as materialized (
      select old.tenant_id, old.dedup_key, t.id is null or t.category in ('terminal_success', 'terminal_cancelled')
        and t.updated_at < now() - make_interval(secs => ${ageSeconds}::integer) as is_over
      from old left join tasks t on t.id = old.task_id and t.tenant_id = old.tenant_id
    ), forgotten as (
      delete from rule_work w using judged j
      where j.is_over and w.tenant_id = j.tenant_id and w.dedup_key = j.dedup_key
    ), kept as (
      update rule_work w set looked_at = clock_timestamp() from judged j
      where not j.is_over and w.tenant_id = j.tenant_id and w.dedup_key = j.dedup_key
    )
    select count(*)::integer as looked from judged`;
}

/** Deletes old records of actions on tasks: only an action within the last minute continues a chain. */
export function deleteOldActs(ageSeconds: number, rowsMax: number) {
  return sql<{ task_id: string }>`
    delete from rule_touched_tasks where task_id in (
      select task_id from rule_touched_tasks where touched_at < now() - make_interval(secs => ${ageSeconds}::integer)
      order by touched_at limit ${rowsMax}
      for update skip locked
    )
    returning task_id`;
}
