import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Refusal } from '../http/refusal.ts';
import { processorMsOf } from '../testing/process/processor-time.ts';
import { ConcurrencyLimit, Turns } from './concurrency-limit.ts';

const isUnavailable = (error: unknown) =>
  error instanceof Refusal && error.code === 'unavailable' && error.headers['retry-after'] === '1';
const boundsOf = (more: object = {}) => ({ runningMax: 2, queuedMax: 2, waitMsMax: 60_000, ...more });

describe('a concurrency limit', () => {
  test('gives turns at once while there is room, then in the order of arrival', async () => {
    const limit = new ConcurrencyLimit('calls', boundsOf());
    assert.equal(limit.enter('a'), undefined);
    assert.equal(limit.enter('a'), undefined);
    const order: number[] = [];
    const third = limit.enter('a')?.then(() => order.push(3));
    const fourth = limit.enter('a')?.then(() => order.push(4));
    assert.equal(limit.enter('b'), undefined, 'another key has turns of its own');
    assert.throws(() => limit.enter('a'), isUnavailable);
    limit.leave('a');
    await third;
    assert.deepEqual(order, [3]);
    limit.leave('a');
    await fourth;
    assert.deepEqual(order, [3, 4]);
  });

  test('refuses who has waited too long, and keeps no turn for them', async () => {
    const limit = new ConcurrencyLimit('calls', boundsOf({ runningMax: 1, waitMsMax: 5 }));
    assert.equal(limit.enter('a'), undefined);
    await assert.rejects(async () => limit.enter('a'), isUnavailable);
    limit.leave('a');
    assert.equal(limit.enter('a'), undefined);
  });

  test('of several limits holds none when one refuses', async () => {
    const outer = new ConcurrencyLimit('outer', boundsOf({ runningMax: 1 }));
    const inner = new ConcurrencyLimit('inner', boundsOf({ runningMax: 1, queuedMax: 1, waitMsMax: 5 }));
    assert.equal(inner.enter('a'), undefined);
    await assert.rejects(async () => new Turns([outer, 'a'], [inner, 'a']).enter(), isUnavailable);
    assert.equal(outer.enter('a'), undefined);
  });

  test('a turn with room costs less than 10 microseconds', () => {
    const limit = new ConcurrencyLimit('calls', boundsOf());
    const tookMs = processorMsOf(() => {
      for (let n = 0; n < 100_000; n += 1) {
        const turns = new Turns([limit, 'a'], [limit, 'b']);
        if (turns.enter() !== undefined) assert.fail('it had to wait');
        turns.leave();
      }
    });
    assert.ok(tookMs / 100 < 10, `${tookMs} ms`);
  });
});
