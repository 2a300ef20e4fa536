import type { RunRow } from '../../leases/lease-rows.ts';
import { fail } from '../errors.ts';

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

/** @throws Refusal `budget_exceeded` for a run that has made all its actions, or used all its tokens or money */
export function refuseSpent(run: RunRow): void {
  refuseUsedUp(run, 'maxActions', run.max_actions, run.action_count);
  refuseUsedUp(run, 'maxTokens', run.max_tokens, run.input_tokens + run.output_tokens);
  refuseUsedUp(run, 'maxCostMicros', run.max_cost_micros, run.costs[run.currency ?? ''] ?? 0);
}

function refuseUsedUp({ id: runId }: RunRow, budget: string, limit: number | null, used: number): void {
  if (limit !== null && used >= limit) fail('budget_exceeded', { budget, limit, used, runId });
}
