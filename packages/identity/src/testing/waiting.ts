import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import type { TestIdentity } from './identity.ts';

/** Longer than anything takes while many test files run at once, so only a failing test reaches it. */
const patienceMs = 60_000;

/** Polls until `holds` returns true, because a fixed sleep would be too short on some machine. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const began = performance.now(); !(await holds()); await sleep(20))
    assert.ok(performance.now() - began < patienceMs, `timed out waiting until ${what}`);
}

/** Polls until so many requests wait for a lock in the test's own database, or until `or` holds. */
export function untilBlocked(
  { pool }: TestIdentity,
  requestsMin: number,
  or: () => boolean = () => false,
): Promise<void> {
  const waiting = sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  return until(
    async () => or() || ((await pool.row(waiting))?.count ?? 0) >= requestsMin,
    `${requestsMin} requests wait for a lock`,
  );
}
