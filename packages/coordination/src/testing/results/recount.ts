import { sql } from '@baton/kernel/database/sql';
import type { TestCoordination } from '../coordination.ts';

/** Figures computed from whole tables, one row at a time, by code that shares nothing with the service's statements. */

const quarterMs = 900_000;

/** The date of an instant, by JavaScript's own calendar. */
export function dateIn(timeZone: string, at: string | number): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone }).format(new Date(at));
}

/** Adds the time from one instant to another to its dates; dates change at quarters of an hour. */
export function addTime(sums: Map<string, number>, timeZone: string, fromMs: number, toMs: number): void {
  for (let at = fromMs; at < toMs; ) {
    const next = Math.min(toMs, (Math.floor(at / quarterMs) + 1) * quarterMs);
    const date = dateIn(timeZone, at);
    sums.set(date, (sums.get(date) ?? 0) + (next - at));
    at = next;
  }
}

/** The smallest value that at least this fraction of the values doesn't exceed; null without values. */
export function nearestRank(values: readonly number[], fraction: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(fraction * sorted.length) - 1)] ?? null;
}

export const durationsOf = (seconds: readonly number[]) => ({
  count: seconds.length,
  p50Seconds: nearestRank(seconds, 0.5),
  p90Seconds: nearestRank(seconds, 0.9),
});

export const secondsBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1000;

/** Everything that figures are computed from. */
export async function readHistory({ pool, tenantId }: TestCoordination) {
  const tasks = await pool.rows<{ id: string; workspace_id: string | null }>(
    sql`select id, workspace_id from tasks where tenant_id = ${tenantId}`,
  );
  const events = await pool.rows<{
    type: string;
    entity_id: string;
    occurred_at: string;
    payload: Record<string, string>;
  }>(
    sql`select type, entity_id, occurred_at, payload from events where tenant_id = ${tenantId} order by position, sequence`,
  );
  const claims = await pool.rows<{
    id: string;
    task_id: string;
    holder_id: string;
    acquired_at: string;
    released_at: string | null;
    expires_at: string;
    release_reason: string | null;
  }>(sql`
    select id, task_id, holder_id, acquired_at, released_at, expires_at, release_reason from claims
    where tenant_id = ${tenantId} order by fencing_token`);
  const actions = await pool.rows<{
    run_id: string;
    task_id: string;
    principal_id: string;
    created_at: string;
    finished_at: string | null;
    input_tokens: number | null;
    output_tokens: number | null;
    cost_micros: number | null;
    currency: string | null;
  }>(sql`
    select run_id, task_id, principal_id, created_at, finished_at, input_tokens, output_tokens, cost_micros, currency
    from run_actions where tenant_id = ${tenantId}`);
  const approvals = await pool.rows<{
    task_id: string | null;
    workspace_id: string | null;
    status: string;
    created_at: string;
    decision_at: string | null;
    updated_at: string;
  }>(sql`
    select task_id, workspace_id, status, created_at, decision_at, updated_at from approvals where tenant_id = ${tenantId}`);
  return { tasks, events, claims, actions, approvals };
}
export type History = Awaited<ReturnType<typeof readHistory>>;

/**
 * Spreads what happened to a task within moments over days: each time becomes `begin` plus its distance from the task's
 * creation times `factor`. Without triggers, which maintain queues that don't depend on these times.
 */
export async function spreadOut(
  { pool }: TestCoordination,
  taskId: string,
  { begin, factor }: { begin: string; factor: number },
): Promise<void> {
  await pool.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    const { zero } = (await tx.row<{ zero: string }>(
      sql`select created_at as zero from tasks where id = ${taskId}`,
    )) as { zero: string };
    const statements = [
      sql`
        update events set occurred_at = ${begin}::timestamptz + (occurred_at - ${zero}::timestamptz) * ${factor}::double precision
        where entity_id = ${taskId} or payload ->> 'taskId' = ${taskId}`,
      sql`
        update claims set acquired_at = ${begin}::timestamptz + (acquired_at - ${zero}::timestamptz) * ${factor}::double precision,
          expires_at = ${begin}::timestamptz + (expires_at - ${zero}::timestamptz) * ${factor}::double precision,
          released_at = ${begin}::timestamptz + (released_at - ${zero}::timestamptz) * ${factor}::double precision
        where task_id = ${taskId}`,
      sql`
        update runs set started_at = ${begin}::timestamptz + (started_at - ${zero}::timestamptz) * ${factor}::double precision,
          finished_at = ${begin}::timestamptz + (finished_at - ${zero}::timestamptz) * ${factor}::double precision
        where task_id = ${taskId}`,
      sql`
        update run_actions set created_at = ${begin}::timestamptz + (created_at - ${zero}::timestamptz) * ${factor}::double precision,
          finished_at = ${begin}::timestamptz + (finished_at - ${zero}::timestamptz) * ${factor}::double precision
        where task_id = ${taskId}`,
      sql`
        update approvals set created_at = ${begin}::timestamptz + (created_at - ${zero}::timestamptz) * ${factor}::double precision,
          decision_at = ${begin}::timestamptz + (decision_at - ${zero}::timestamptz) * ${factor}::double precision,
          updated_at = ${begin}::timestamptz + (updated_at - ${zero}::timestamptz) * ${factor}::double precision
        where task_id = ${taskId}`,
      sql`
        update tasks set completed_at = ${begin}::timestamptz + (completed_at - ${zero}::timestamptz) * ${factor}::double precision,
          created_at = ${begin}::timestamptz
        where id = ${taskId}`,
    ];
    for (const statement of statements) await tx.run(statement);
  });
}
