import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Circuits } from './circuits.ts';

function start(more: Partial<ConstructorParameters<typeof Circuits>[0]> = {}) {
  const clock = { nowMs: 1000 };
  const bounds = { failuresMax: 3, pauseMs: 5000, pauseMsMax: 15_000, keysMax: 100, ...more };
  const circuits = new Circuits(bounds, () => clock.nowMs);
  const fail = (key: string, times = 1) => {
    for (let n = 0; n < times; n += 1) {
      assert.equal(circuits.enter(key), undefined);
      circuits.failed(key);
    }
  };
  return { circuits, clock, fail };
}

test('a circuit opens after consecutive failures, only for its own key, and returns the delay', () => {
  const { circuits, fail } = start();
  fail('a', 2);
  circuits.succeeded('a');
  fail('a', 3);
  assert.equal(circuits.enter('a'), 5);
  assert.equal(circuits.enter('b'), undefined);
  assert.equal(circuits.openCount(), 1);
});

test('after its pause one call is let through, and its success closes the circuit', () => {
  const { circuits, clock, fail } = start();
  fail('a', 3);
  clock.nowMs += 5000;
  assert.equal(circuits.openCount(), 0);
  assert.equal(circuits.enter('a'), undefined);
  assert.equal(circuits.enter('a'), 1);
  circuits.succeeded('a');
  assert.equal(circuits.enter('a'), undefined);
});

test('the pause doubles up to its maximum while the next call fails, and an aborted call changes nothing', () => {
  const { circuits, clock, fail } = start();
  fail('a', 3);
  for (const seconds of [10, 15, 15]) {
    clock.nowMs += 60_000;
    fail('a');
    assert.equal(circuits.enter('a'), seconds);
  }
  clock.nowMs += 60_000;
  assert.equal(circuits.enter('a'), undefined);
  circuits.abandoned('a');
  assert.equal(circuits.enter('a'), undefined);
});

test('failures of calls that began before it opened do not prolong the pause', () => {
  const { circuits, clock, fail } = start();
  fail('a', 3);
  clock.nowMs += 4000;
  for (let late = 0; late < 100; late += 1) circuits.failed('a');
  assert.equal(circuits.enter('a'), 1);
});

test('the number of stored keys is bounded', () => {
  const { circuits, fail } = start({ keysMax: 2, failuresMax: 1 });
  for (const key of ['a', 'b', 'c']) fail(key);
  assert.equal(circuits.openCount(), 2);
  assert.equal(circuits.enter('a'), undefined);
});
