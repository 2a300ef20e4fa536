import type { RunRow } from '../../leases/lease-rows.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findBudgetInOtherCurrency, sumTreeBudgets } from './tree-budgets.sql.ts';

/**
 * Budgets stop further checkpoints and actions, never the end of a run (core, sections 10 and 25). A budget of tokens or
 * money is judged by what was used before: what an action has used can't be undone, so it is written even where it goes
 * beyond.
 */

/** @throws Refusal `budget_exceeded` once `maxDurationSeconds` have passed since the start */
export function refuseOverTime(run: RunRow & { is_over_time: boolean }): void {
  if (run.is_over_time)
    fail('budget_exceeded', { budget: 'maxDurationSeconds', limit: run.max_duration_seconds, runId: run.id });
}

/**
 * Refuses a further action of a run that has made all its actions, and of one whose tokens or money are used up: its own
 * budget or one above it, in which the runs below count too. The runs of a tree wait for no lock of each other, so
 * actions of several at the same moment may all be the last.
 * @throws Refusal `budget_exceeded`, with the run whose budget it is
 */
export async function refuseSpent({ db, tenantId }: Context, run: RunRow): Promise<void> {
  refuseUsedUp(run.id, 'maxActions', run.max_actions, run.action_count);
  if (run.max_tokens === null && run.max_cost_micros === null && run.child_handle_id === null) return;
  for (const budget of await db.rows(sumTreeBudgets(tenantId, run.id))) {
    refuseUsedUp(budget.id, 'maxTokens', budget.max_tokens, budget.tokens);
    refuseUsedUp(budget.id, 'maxCostMicros', budget.max_cost_micros, budget.cost_micros);
  }
}

/**
 * Refuses costs in another currency than those they are added to, and than any budget of money that they count in: of the
 * run itself or of one above it. What a budget could not count would pass by it.
 * @param currency of the costs; null without any
 * @param added that of the costs that the same action has already
 * @throws Refusal `invalid_action`, with the run whose budget it is where that is one above
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
