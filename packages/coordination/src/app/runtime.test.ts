import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { sendRequest, startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { refused } from '../testing/leases.ts';

/** Errors that any request may get through no fault of its client. See docs/reference/README.md#errors. */

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('an unhandled failure returns 500 internal_error without details', async () => {
  await baton.pool.run(sql`alter table tasks rename to tasks_gone`);
  const { status, body, headers } = await baton.admin.get('/tasks');
  await baton.pool.run(sql`alter table tasks_gone rename to tasks`);
  assert.deepEqual([status, body.error.code, body.error.details], [500, 'internal_error', {}]);
  assert.equal(body.error.requestId, headers.get('x-request-id'));
  assert.doesNotMatch(JSON.stringify(body), /tasks|relation|sql/i);
});

test('an error links to the page of its code only if the operator has set the address', async () => {
  const service = await baton.another({ CP_DOCS_BASE_URL: 'https://docs.example.com/errors/' });
  const create = (url: string, body: object) =>
    sendRequest(`${url}/api/v1/tasks`, 'POST', { token: baton.admin.token, body });
  for (const [body, code] of [
    [{ title: ' ' }, 'invalid_title'],
    [{ titel: 'x' }, 'invalid_request'],
  ] as const) {
    const [linked, plain] = [await create(service.url, body), await create(baton.url, body)];
    assert.equal(linked.body.error.docs, `https://docs.example.com/errors/#${code}`);
    assert.deepEqual(Object.keys(plain.body.error), ['code', 'message', 'details', 'requestId']);
  }
  const unrouted = await sendRequest(`${service.url}/nowhere`, 'GET');
  assert.equal(unrouted.body.error.docs, 'https://docs.example.com/errors/#not_found');
  await service.close();
});

test('an unresponsive database causes 503 unavailable with Retry-After', async () => {
  const service = await baton.another({ CP_STATEMENT_TIMEOUT_SECONDS: '1' });
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`lock table tasks in access exclusive mode`);
    const answer = await sendRequest(`${service.url}/api/v1/tasks`, 'GET', { token: baton.admin.token });
    await refused(Promise.resolve(answer), 503, 'unavailable');
    assert.equal(answer.headers.get('retry-after'), '1');
  });
  await service.close();
  assert.equal((await baton.admin.get('/tasks')).status, 200);
});

test('a duplicate whose first request does not end in time gets 409 idempotency_in_flight', async () => {
  const service = await baton.another({ CP_IDEMPOTENCY_WAIT_TIMEOUT_SECONDS: '1' });
  const key = randomUUID();
  await baton.pool
    .transaction(async (tx) => {
      await tx.run(sql`
      insert into idempotency_keys (tenant_id, key, fingerprint, expires_at)
      values (${baton.tenantId}, ${key}, 'of the first', now() + interval '1 hour')`);
      const duplicate = sendRequest(`${service.url}/api/v1/tasks`, 'POST', {
        token: baton.admin.token,
        headers: { 'idempotency-key': key },
        body: { title: 'wanted' },
      });
      await refused(duplicate, 409, 'idempotency_in_flight');
      throw new Error('the first fails');
    })
    .catch((error: Error) => assert.equal(error.message, 'the first fails'));
  await service.close();
  const again = await baton.admin.post('/tasks', { title: 'wanted' }, { 'idempotency-key': key });
  assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [201, null]);
});
