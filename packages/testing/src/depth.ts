import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

/**
 * Whether this is the long proof (`npm run proof`): full depth, and limits of wall-clock time. `npm test` checks every promise
 * at least once, also on a busy machine. CONTRIBUTING.md describes both.
 */
export const isLongProof = process.env.BATON_TEST_DEPTH === 'long';

/** Picks how much of itself a test runs: repetitions, rows, seconds. */
export const byDepth = <Value>(usual: Value, long: Value): Value => (isLongProof ? long : usual);

/** How often a race is run. */
export const raceRounds = byDepth(20, 200);

/** A test of the long proof; `npm test` does not register it, since what it proves takes time or size. */
export const longTest: typeof test = isLongProof ? test : unregistered(test);

/** As `longTest`, for a suite. */
export const describeLong: typeof describe = isLongProof ? describe : unregistered(describe);

function unregistered<Register extends typeof test | typeof describe>(register: Register): Register {
  return Object.assign(() => Promise.resolve(), register);
}

/**
 * Checks in the long proof that something took less than `msMax` milliseconds of wall-clock time. In `npm test` it checks nothing:
 * beside other work, time says more about the machine than about the code.
 * @param sinceMs when it began, by `performance.now()`
 * @throws AssertionError with `what` and the time it took
 */
export function assertTookLess(sinceMs: number, msMax: number, what = 'it'): void {
  const tookMs = performance.now() - sinceMs;
  if (isLongProof) assert.ok(tookMs < msMax, `${what} took ${Math.round(tookMs)} ms, more than ${msMax}`);
}
