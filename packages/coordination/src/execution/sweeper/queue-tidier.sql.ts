import { sql } from '@baton/kernel/database/sql';

/** How many rows were read and removed, and the position to continue from. */
export interface TidiedRow {
  looked_at: number;
  removed: number;
  last_id: string | null;
}

/**
 * Walks the work queue and removes tasks with a live claim. Locked tasks are skipped.
 * @param after the last task of the previous batch
 */
export function deleteClaimedAfter(after: string, rowsMax: number) {
  return sql<TidiedRow>`
    with walked as materialized (
      select task_id from work_queue where task_id > ${after} order by task_id limit ${rowsMax}
    ), held as materialized (
      select t.id from tasks t
      where t.id = any (array(select task_id from walked))
        and t.active_claim_id is not null and t.lease_expires_at > clock_timestamp()
      for no key update of t skip locked
    ), gone as (
      delete from work_queue where task_id = any (array(select id from held)) returning task_id
    )
    select (select count(*)::integer from walked) as looked_at, (select count(*)::integer from gone) as removed,
      (select task_id from walked order by task_id desc limit 1) as last_id`;
}

/** Removes the tasks of claims that are younger than the given number of seconds from the work queue. */
export function deleteClaimedSince(seconds: number, rowsMax: number) {
  return sql<TidiedRow>`
    with recent as materialized (
      select c.task_id from tenants tn cross join lateral (
        select c.task_id from claims c
        where c.tenant_id = tn.id and c.status = 'active' and c.acquired_at > now() - make_interval(secs => ${seconds}::integer)
          and exists (select from work_queue q where q.task_id = c.task_id)
        order by c.acquired_at
        limit ${rowsMax}
      ) c
      limit ${rowsMax}
    ), held as materialized (
      select t.id from tasks t
      where t.id = any (array(select task_id from recent))
        and t.active_claim_id is not null and t.lease_expires_at > clock_timestamp()
      for no key update of t skip locked
    ), gone as (
      delete from work_queue where task_id = any (array(select id from held)) returning task_id
    )
    select (select count(*)::integer from recent) as looked_at, (select count(*)::integer from gone) as removed,
      null::uuid as last_id`;
}

/** Deletes requirement sets that no task in the queue refers to any more. */
export function deleteUnusedSets(setsMax: number) {
  return sql<{ looked_at: number }>`select forget_left_sets(${setsMax}) as looked_at`;
}
