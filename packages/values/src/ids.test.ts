import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { newId } from './ids.ts';

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('ids rise in the order in which they were made, however many in a millisecond', () => {
  const ids = Array.from({ length: 20_000 }, newId);
  assert.deepEqual(ids.toSorted(), ids);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, uuidV7);
});

test('ids rise also where the clock is set back, and begin with the time', () => {
  const before = newId();
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  assert.ok(newId() > before);
  mock.timers.setTime(Date.parse('2126-01-01T00:00:00Z'));
  const later = newId();
  mock.timers.reset();
  assert.equal(Number.parseInt(later.replace('-', '').slice(0, 12), 16), Date.parse('2126-01-01T00:00:00Z'));
});
