import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Readings } from '../web/src/readings.ts';

const bounds = { gatherMs: 5, restTimes: 4, restMsMax: 60 };

test('a flood of wishes is one reading at a time, with rests as long as the readings are slow', async () => {
  let running = 0;
  let most = 0;
  const ended: number[] = [];
  const readings = new Readings(async () => {
    running += 1;
    most = Math.max(most, running);
    await sleep(20);
    running -= 1;
    ended.push(performance.now());
  }, bounds);
  const endsMs = performance.now() + 400;
  while (performance.now() < endsMs) {
    for (let n = 0; n < 50; n += 1) readings.want('tasks');
    await sleep(1);
  }
  readings.stop();
  assert.equal(most, 1);
  // Each takes 20 ms and rests for 60, the bound: about five in 400 ms.
  assert.ok(ended.length >= 2 && ended.length <= 6, `${ended.length} readings`);
});

test('what is wanted during a reading is read once more; another key does not wait, and a failure ends nothing', async () => {
  const read: string[] = [];
  const readings = new Readings(async (key) => {
    read.push(key);
    await sleep(10);
    throw new Error('refused');
  }, bounds);
  readings.want('tasks');
  await sleep(9);
  readings.want('tasks');
  readings.want('me');
  await sleep(200);
  readings.stop();
  assert.deepEqual(read.toSorted(), ['me', 'tasks', 'tasks']);
});
