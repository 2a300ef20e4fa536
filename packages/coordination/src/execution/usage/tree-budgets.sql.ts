import { sql } from '@baton/kernel/database/sql';

/** A budget of tokens or money, with the usage against it. */
export interface TreeBudgetRow {
  id: string;
  max_tokens: number | null;
  max_cost_micros: number | null;
  tokens: number;
  cost_micros: number;
}

/**
 * The budgets of a run and of its ancestors, nearest first, each with the usage of its run and all runs below it, in
 * every attempt. A run is at most 8 levels deep.
 */
export function sumTreeBudgets(tenantId: string, runId: string) {
  return sql<TreeBudgetRow>`
    with recursive line as (
      select id, max_tokens, max_cost_micros, currency, child_handle_id, 0 as height from runs
      where id = ${runId} and tenant_id = ${tenantId}
      union all
      select p.id, p.max_tokens, p.max_cost_micros, p.currency, p.child_handle_id, line.height + 1
      from line join child_handles h on h.id = line.child_handle_id join runs p on p.id = h.parent_run_id
    ), tree as (
      select id as top, id as run_id from line where max_tokens is not null or max_cost_micros is not null
      union all
      select tree.top, c.id
      from tree join child_handles h on h.parent_run_id = tree.run_id join runs c on c.child_handle_id = h.id
    )
    select line.id, line.max_tokens, line.max_cost_micros,
      least(sum(r.input_tokens + r.output_tokens), 9007199254740991)::bigint as tokens,
      least(coalesce(sum((r.costs ->> line.currency)::numeric), 0), 9007199254740991)::bigint as cost_micros
    from line join tree on tree.top = line.id join runs r on r.id = tree.run_id
    group by line.id, line.max_tokens, line.max_cost_micros, line.currency, line.height
    order by line.height`;
}

/** The nearest run, starting with the run itself, with a money budget in another currency. */
export function findBudgetInOtherCurrency(tenantId: string, runId: string, currency: string) {
  return sql<{ id: string; currency: string }>`
    with recursive line as (
      select id, currency, child_handle_id, 0 as height from runs where id = ${runId} and tenant_id = ${tenantId}
      union all
      select p.id, p.currency, p.child_handle_id, line.height + 1
      from line join child_handles h on h.id = line.child_handle_id join runs p on p.id = h.parent_run_id
    )
    select id, currency from line where currency <> ${currency} order by height limit 1`;
}
