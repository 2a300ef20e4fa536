import type { RunRow } from '../../leases/lease-rows.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { sumTreeBudgets } from './tree-budgets.sql.ts';

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

function refuseUsedUp(runId: string, budget: string, limit: number | null, used: number): void {
  if (limit !== null && used >= limit) fail('budget_exceeded', { budget, limit, used, runId });
}
