import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { wallClockAssertions } from './wall-clock.ts';

const root = mkdtempSync(join(tmpdir(), 'baton-wall-clock-'));
after(() => rmSync(root, { recursive: true }));
mkdirSync(join(root, 'scripts'));

/** Joins two parts, so that the check does not find these strings in this file. */
const asserted = (condition: string) => ['assert', `ok(${condition});`].join('.');

function found(line: string, file = 'some.test.ts'): number {
  writeFileSync(join(root, 'scripts', file), `${line}\n`);
  try {
    return wallClockAssertions(root).length;
  } finally {
    rmSync(join(root, 'scripts', file));
  }
}

const upperBounds = [
  'performance.now() - began < 5000',
  '(performance.now() - startedAt) / 20 < 100',
  "tookMs < 300, 'late'",
  '\n  medianMs < 250,\n',
  'delay.max / 1e6 < 250',
];
const others = [
  'performance.now() - began >= 990',
  'performance.now() < deadline, what',
  'Math.abs(Date.parse(at) - Date.now()) < 60_000',
];

test('an upper bound of wall-clock time is reported in npm test, and allowed in the long proof', () => {
  for (const condition of upperBounds) {
    assert.equal(found(asserted(condition)), 1, condition);
    assert.equal(found(asserted(condition), 'some.long.test.ts'), 0, condition);
  }
  assert.equal(found('assertTookLess(began, 5000);'), 0);
});

test('a lower bound, a deadline of a wait and the time of a row are allowed', () => {
  for (const condition of others) assert.equal(found(asserted(condition)), 0, condition);
});
