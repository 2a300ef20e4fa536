import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planKills } from './kill-plan.ts';
import { percentile } from './latency.ts';
import { seededRandom } from './seeded-random.ts';
import { Tally } from './tally.ts';

test('percentiles are by nearest rank', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.equal(percentile(values, 50), 50);
  assert.equal(percentile(values, 99), 99);
  assert.equal(percentile(values, 100), 100);
  assert.equal(percentile([7], 1), 7);
  assert.equal(percentile([], 50), 0);
  assert.equal(values[0], 100, 'the values stay in their order');
});

test('one claim in twenty ends with a kill, at least three, and no more than there are tasks', () => {
  assert.equal(planKills(400).size, 20);
  assert.equal(planKills(20).size, 3);
  assert.equal(planKills(2).size, 2);
  assert.equal(planKills(0).size, 0);
  for (const claim of planKills(400, seededRandom(1)).keys()) assert.ok(claim >= 1 && claim <= 400);
});

test('a task that is taken and finished twice counts once', () => {
  const tally = new Tally();
  for (const id of ['a', 'b', 'a']) tally.addDoneTask(id);
  assert.equal(tally.tasksDone, 2);
  tally.completeAll(3);
  assert.equal(tally.tasksDone, 3);
});
