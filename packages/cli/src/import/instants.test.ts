import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasHappened, instantIn } from './instants.ts';
import { readResolution } from './words.ts';

test('dates of trackers are instants if their day and month are unambiguous', () => {
  for (const [text, instant] of [
    ['2026-12-24', '2026-12-24T00:00:00.000Z'],
    ['2026-12-24 17:00', '2026-12-24T17:00:00.000Z'],
    ['2026-12-24T17:00:00+0100', '2026-12-24T16:00:00.000Z'],
    ['2025-11-02T21:58:07.295058-08:00', '2025-11-03T05:58:07.295Z'],
    ['24/Dec/26 12:05 AM', '2026-12-24T00:05:00.000Z'],
    ['24/Dec/26 5:00 PM', '2026-12-24T17:00:00.000Z'],
    ['December 24, 2026 5:00 PM (UTC)', '2026-12-24T17:00:00.000Z'],
    ['Thu Dec 24 2026 10:00:00 GMT+0000 (GMT)', '2026-12-24T10:00:00.000Z'],
    ['1798070400000', '2026-12-24T00:00:00.000Z'],
    ['24/12/2026', undefined],
    ['31 June 2026', undefined],
    ['2026-13-01', undefined],
    ['999999999999999999', undefined],
    ['tomorrow', undefined],
    ['', undefined],
  ] as const)
    assert.equal(instantIn(text), instant, text);
});

test('a cell means that an event has happened by a date of any form, or by a yes', () => {
  const said = (texts: readonly string[]) => texts.map((text) => hasHappened(text));
  assert.deepEqual(
    new Set(said(['2026-03-05', '05/03/2026 10:00', '5.3.26', 'Yes', 'true', '✓'])),
    new Set([true]),
  );
  assert.deepEqual(new Set(said(['', 'No', 'false', '0', '-', 'null'])), new Set([false]));
  assert.deepEqual(said(['soon', '3']), [undefined, undefined]);
});

test('a resolution means done or cancelled', () => {
  assert.deepEqual(
    ['Done', 'Fixed', "Won't Do", 'Duplicate', 'Cannot Reproduce', 'Unresolved', ''].map(readResolution),
    [...(['done', 'done', 'cancelled', 'cancelled', 'cancelled', undefined, undefined] as const)],
  );
});
