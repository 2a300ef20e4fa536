import { sql } from '@baton/kernel/database/sql';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import type { UsageRow } from './usage.ts';

/**
 * Sums the usage of all runs of a task and of the tasks below it by `parent` or `spawned_by`, omitting tasks that the
 * viewer can't see. Each task counts once, even with several paths to it. Returns no row for an unknown task.
 */
export function sumUsageOfTask(of: {
  tenantId: string;
  ref: TaskRef;
  descendants: boolean;
  /** Restricts the result to the viewer's workspaces; null for unrestricted. */
  viewerId: string | null;
}) {
  return sql<UsageRow>`
    with recursive tree as (
      select t.id from tasks t
      where t.id = coalesce(${of.ref.id}::uuid, (
          select id from tasks where tenant_id = ${of.tenantId} and public_number = ${of.ref.number}::bigint))
        and t.tenant_id = ${of.tenantId}
      union
      select r.from_task_id from tree
      join task_relations r on r.to_task_id = tree.id and r.type in ('parent', 'spawned_by')
      where ${of.descendants} and (${of.viewerId}::uuid is null or sees_task(${of.viewerId}, r.from_task_id))
    ), used as materialized (
      select r.input_tokens, r.output_tokens, r.costs from tree join runs r on r.task_id = tree.id
    )
    select least(coalesce(sum(input_tokens), 0), 9007199254740991)::bigint as input_tokens,
      least(coalesce(sum(output_tokens), 0), 9007199254740991)::bigint as output_tokens,
      coalesce((
        select jsonb_object_agg(currency, least(total, 9007199254740991)) from (
          select key as currency, sum(value::numeric) as total from used, jsonb_each_text(costs) group by key
        ) as summed), '{}') as costs
    from used
    having exists (select from tree)`;
}
