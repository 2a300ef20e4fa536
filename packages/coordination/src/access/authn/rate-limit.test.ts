import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { stopClock } from '../../testing/clock.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { openStream } from '../../testing/stream/stream-client.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination({
    CP_RATE_LIMIT_PER_PRINCIPAL_RPS: '2',
    CP_RATE_LIMIT_PER_PRINCIPAL_BURST: '5',
  });
});
after(() => baton.close());

test('beyond its burst a principal gets 429 with Retry-After, and others do not', async (t) => {
  const passTime = stopClock(t);
  const [busy, calm] = [await baton.actor(), await baton.actor()];
  const answers = await Promise.all(Array.from({ length: 12 }, () => busy.get('/principals')));
  const limited = answers.filter(({ status }) => status !== 200);
  assert.equal(limited.length, 7);
  for (const { status, body, headers } of limited) {
    assert.deepEqual([status, body.error.code], [429, 'rate_limited']);
    assert.deepEqual(body.error.details, { retryAfterSeconds: 1 });
    assert.equal(headers.get('retry-after'), '1');
  }
  assert.equal((await calm.get('/principals')).status, 200);
  passTime(1000);
  assert.equal((await busy.get('/principals')).status, 200);
});

test('the rate limit is checked before the content of a request', async (t) => {
  stopClock(t);
  const busy = await baton.actor();
  const answers = await Promise.all(Array.from({ length: 12 }, () => busy.get('/principals?zebra=1')));
  const statuses = new Set(answers.map(({ status }) => status));
  assert.deepEqual(statuses, new Set([400, 429]));
});

test('a stream beyond the burst is closed with 1013, try again later', async () => {
  const busy = await baton.actor();
  const streams = Array.from({ length: 30 }, () => openStream(baton.url, { token: busy.token }));
  const first = await Promise.race(streams.map(({ ended }) => ended));
  assert.deepEqual(first, { code: 1013, reason: 'rate_limited' });
  await Promise.all(streams.map((stream) => stream.close()));
});

test('beyond the burst all principals of a tenant together get 429, and another tenant does not', async (t) => {
  stopClock(t);
  const limited = await startCoordination({
    CP_RATE_LIMIT_PER_TENANT_RPS: '1',
    CP_RATE_LIMIT_PER_TENANT_BURST: '5',
  });
  try {
    const actors = await Promise.all(Array.from({ length: 12 }, () => limited.actor()));
    const answers = await Promise.all(actors.map((actor) => actor.get('/principals')));
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length >= 5 && refused.length <= 7, `${refused.length}`);
    for (const { body, headers } of refused) {
      assert.deepEqual([body.error.code, body.error.details], ['rate_limited', { retryAfterSeconds: 1 }]);
      assert.equal(headers.get('retry-after'), '1');
    }
    assert.equal((await limited.otherAdmin.get('/principals')).status, 200);
  } finally {
    await limited.close();
  }
});
