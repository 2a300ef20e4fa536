import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '@baton/kernel/process/log';
import { createPutOff } from './put-off.ts';

const silent = createLog({ name: 'test', level: 'silent' });

test('the pause of an entry doubles from 5 s to 10 min, and the entry is retried only after it', async () => {
  let nowMs = 0;
  const putOff = createPutOff('test', silent, () => nowMs);
  const pausesSeconds: number[] = [];
  for (let failure = 0; failure < 9; failure += 1) {
    await putOff.attempt('bad', () => Promise.reject(new Error('poison')));
    const failedAtMs = nowMs;
    for (; putOff.isWaiting('bad'); nowMs += 5000)
      await putOff.attempt('bad', () => assert.fail('the paused entry is skipped'));
    pausesSeconds.push((nowMs - failedAtMs) / 1000);
  }
  assert.deepEqual(pausesSeconds, [5, 10, 20, 40, 80, 160, 320, 600, 600]);
  assert.equal(await putOff.attempt('bad', async () => 7), 7);
  await putOff.attempt('bad', () => Promise.reject(new Error('poison')));
  nowMs += 5000;
  assert.deepEqual(putOff.waiting(), [], 'a handled entry starts over');
});

test('at most 1,000 entries are stored, the latest', async () => {
  const putOff = createPutOff('test', silent, () => 0);
  for (let n = 0; n < 1001; n += 1) putOff.note(`entry ${n}`, new Error('poison'));
  assert.equal(putOff.waiting().length, 1000);
  assert.deepEqual([putOff.isWaiting('entry 0'), putOff.isWaiting('entry 1000')], [false, true]);
});

test('an unreachable database is thrown and counts against no entry', async () => {
  const putOff = createPutOff('test', silent);
  const away = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
  await assert.rejects(
    putOff.attempt('good', () => Promise.reject(away)),
    /away/,
  );
  assert.equal(putOff.isWaiting('good'), false);
});
