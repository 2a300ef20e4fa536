import type { RunRow } from '../../leases/lease-rows.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findBudgetInOtherCurrency, sumTreeBudgets } from './tree-budgets.sql.ts';

/**
 * Budgets stop further checkpoints and actions, never the end of a run (docs/reference/actions-and-usage.md#budgets). A
 * budget of tokens or money is checked against the usage before the action: an action can't be undone, so its usage is
 * recorded even if it exceeds the budget.
 */

/** @throws Refusal `budget_exceeded` once `maxDurationSeconds` have passed since the start */
export function refuseSpentDuration(run: RunRow & { is_over_time: boolean }): void {
  if (run.is_over_time)
    fail('budget_exceeded', { budget: 'maxDurationSeconds', limit: run.max_duration_seconds, runId: run.id });
}

/**
 * Refuses a further action if the run has reached its maximum number of actions, or has used up a budget of tokens or
 * money: its own, or that of an ancestor run, which includes the usage of all runs below it. The runs of a tree don't
 * wait for each other's locks, so several concurrent actions may each be accepted as the last one.
 * @throws Refusal `budget_exceeded`, with the run whose budget it is
 */
export async function refuseSpentBudget({ db, tenantId }: Context, run: RunRow): Promise<void> {
  refuseUsedUp(run.id, 'maxActions', run.max_actions, run.action_count);
  if (run.max_tokens === null && run.max_cost_micros === null && run.child_handle_id === null) return;
  for (const budget of await db.rows(sumTreeBudgets(tenantId, run.id))) {
    refuseUsedUp(budget.id, 'maxTokens', budget.max_tokens, budget.tokens);
    refuseUsedUp(budget.id, 'maxCostMicros', budget.max_cost_micros, budget.cost_micros);
  }
}

/**
 * Refuses costs in a currency other than that of the recorded costs, or of any money budget that applies: that of the
 * run itself or of an ancestor. Costs in another currency would escape the budget.
 * @param currency of the costs; null if there are none
 * @param added the currency of the costs that the action already has
 * @throws Refusal `invalid_action`, with the run whose budget it is if that is an ancestor
 */
export async function refuseOtherCurrency(
  { db, tenantId }: Context,
  run: RunRow,
  currency: string | null,
  added: string | null = null,
): Promise<void> {
  if (currency === null) return;
  const expected = run.currency ?? added;
  if (expected !== null && currency !== expected)
    fail('invalid_action', { field: 'usage.currency', currency, expected });
  if (run.child_handle_id === null) return;
  const above = await db.row(findBudgetInOtherCurrency(tenantId, run.id, currency));
  if (above !== undefined)
    fail('invalid_action', {
      field: 'usage.currency',
      currency,
      expected: above.currency,
      runId: above.id,
    });
}

function refuseUsedUp(runId: string, budget: string, limit: number | null, used: number): void {
  if (limit !== null && used >= limit) fail('budget_exceeded', { budget, limit, used, runId });
}
