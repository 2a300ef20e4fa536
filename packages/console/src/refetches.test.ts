import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refetches } from '../web/src/refetches.ts';

const bounds = { gatherMs: 5, restTimes: 4, restMsMax: 60 };

test('a flood of requests causes one refetch at a time, with pauses in proportion to their duration', async () => {
  let running = 0;
  let most = 0;
  const began: number[] = [];
  const ended: number[] = [];
  const readings = new Refetches(async () => {
    began.push(performance.now());
    running += 1;
    most = Math.max(most, running);
    await sleep(20);
    running -= 1;
    ended.push(performance.now());
  }, bounds);
  while (ended.length < 4) {
    for (let n = 0; n < 50; n += 1) readings.request('tasks');
    await sleep(1);
  }
  readings.stop();
  assert.equal(most, 1);
  // Each refetch takes 20 ms, followed by a pause of 60 ms, the maximum. A timer may fire a fraction of a millisecond
  // early.
  const restsMs = began.slice(1).map((beganMs, n) => beganMs - (ended[n] as number));
  assert.ok(restsMs.length >= 3 && restsMs.every((ms) => ms >= 59), `rests of ${restsMs} ms`);
});

test('a request during a refetch causes one more; other keys do not wait, and a failure stops nothing', async () => {
  const read: string[] = [];
  const isReading = Promise.withResolvers<void>();
  const readings = new Refetches(async (key) => {
    read.push(key);
    isReading.resolve();
    await sleep(10);
    throw new Error('refused');
  }, bounds);
  readings.request('tasks');
  await isReading.promise;
  readings.request('tasks');
  readings.request('me');
  while (read.length < 3) await sleep(1);
  // There is no third refetch.
  await sleep(100);
  readings.stop();
  assert.deepEqual(read.toSorted(), ['me', 'tasks', 'tasks']);
});
