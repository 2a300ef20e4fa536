import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

/**
 * Whether this is a run of the long tests (`npm run proof`), which have full depth and wall-clock limits. `npm test`
 * checks every guarantee at least once and also passes on a busy machine. CONTRIBUTING.md describes both.
 */
export const isLongProof = process.env.BATON_TEST_DEPTH === 'long';

/** Selects the size of a test by depth: repetitions, rows or seconds. */
export const byDepth = <Value>(usual: Value, long: Value): Value => (isLongProof ? long : usual);

/** Number of rounds of a race test. */
export const raceRounds = byDepth(20, 200);

/** Registers a test in the long run only, because it needs time or size. `npm test` does not register it. */
export const longTest: typeof test = isLongProof ? test : unregistered(test);

/** Like `longTest`, for a suite. */
export const describeLong: typeof describe = isLongProof ? describe : unregistered(describe);

function unregistered<Register extends typeof test | typeof describe>(register: Register): Register {
  return Object.assign(() => Promise.resolve(), register);
}

/**
 * Checks in the long run that an operation took less than `msMax` ms of wall-clock time. In `npm test` it checks
 * nothing: on a busy machine the time measures the machine, not the code.
 * @param sinceMs the start, from `performance.now()`
 * @throws AssertionError with `what` and the elapsed time
 */
export function assertTookLess(sinceMs: number, msMax: number, what = 'it'): void {
  const tookMs = performance.now() - sinceMs;
  if (isLongProof) assert.ok(tookMs < msMax, `${what} took ${Math.round(tookMs)} ms, more than ${msMax}`);
}
