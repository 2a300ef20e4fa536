import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than anything takes while many test files run at once, so only a failing test reaches it. */
const patienceMs = 60_000;

/** Polls until `holds` returns true, because a fixed sleep would be too short on some machine. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const began = performance.now(); !(await holds()); await sleep(20))
    assert.ok(performance.now() - began < patienceMs, `timed out waiting until ${what}`);
}
