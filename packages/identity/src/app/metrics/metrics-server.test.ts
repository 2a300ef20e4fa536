import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startDatabaseProxy } from '@baton/kernel/testing/database/database-proxy';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { makeRealm, newSubject, signInBy } from '../../sign-in/federation/testing/sign-in.ts';
import { startUpstream } from '../../sign-in/federation/testing/upstream.ts';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeBearer, makeTenant } from '../../testing/objects.ts';

let store: TestIdentity;
before(async () => {
  store = await startIdentity();
});
after(() => store.close());

async function startMeasured(settings: Record<string, string> = {}) {
  const port = await freePort();
  const identity = await store.another({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
    IAM_METRICS_PORT: port,
    ...settings,
  });
  const read = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    assert.equal(answer.status, 200);
    return answer.text();
  };
  /** The value of one line, named with its labels. */
  const valueOf = async (name: string) => {
    const line = (await read()).split('\n').find((one) => one.startsWith(`${name} `));
    assert.ok(line, name);
    return Number(line.slice(name.length).replace('Nan', 'NaN'));
  };
  return { identity, read, valueOf };
}

test('exchanges are counted by outcome, signatures are timed, and no label names anybody', async () => {
  const { identity, read, valueOf } = await startMeasured();
  const { tenantId, principalId, token } = await makeBearer(identity);
  const path = '/api/v1/platform-access-tokens:exchange';
  for (const audience of ['control-plane', 'control-plane', 'unknown'])
    await identity.request('POST', path, { body: { token, audience } });
  const outcome = (name: string) => `iam_presented_credentials_total{credential="pat",outcome="${name}"}`;
  assert.equal(await valueOf(outcome('exchanged')), 2);
  assert.equal(await valueOf(outcome('audience_not_allowed')), 1);
  assert.equal(await valueOf('iam_signature_seconds_count'), 2);
  assert.equal(await valueOf('iam_signatures_waiting'), 0);
  assert.equal(await valueOf('iam_keys_published'), 1);
  assert.equal(await valueOf('iam_audit_rows_waiting'), 0);
  assert.ok((await valueOf('iam_database_connections_idle')) > 0);
  assert.equal(await valueOf('iam_database_requests_waiting'), 0);
  assert.ok((await valueOf('nodejs_eventloop_lag_p99_seconds')) > 0);
  for (const name of [tenantId, principalId, token.slice(8, 20)]) assert.ok(!(await read()).includes(name));
});

test('the gauges show what an unfinished writer of the journal holds back', async () => {
  const { valueOf } = await startMeasured();
  const tenantId = await makeTenant(store);
  assert.equal(await valueOf('iam_journal_unsettled_events'), 0);
  assert.equal(await valueOf('iam_journal_oldest_writer_seconds'), 0);
  await store.pool.transaction(async (db) => {
    await db.run(sql`
      insert into events (id, tenant_id, type, aggregate_type, aggregate_id, payload)
      select gen_random_uuid(), ${tenantId}, 'test', 'test', ${randomUUID()}, '{}' from generate_series(1, 3)`);
    assert.equal(await valueOf('iam_journal_unsettled_events'), 3);
    assert.ok((await valueOf('iam_journal_oldest_writer_seconds')) > 0);
  });
  assert.equal(await valueOf('iam_journal_unsettled_events'), 0);
});

test('a provider whose keys cannot be fetched is counted with their age until they can', {
  timeout: 100_000,
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const { identity, valueOf } = await startMeasured();
  const realm = await makeRealm(identity, upstream, { jwksCacheTtlSeconds: 0 });
  const enter = async () =>
    (await signInBy(identity, realm, await upstream.sign({ sub: newSubject() }))).status;
  const shown = async () => [
    await valueOf('iam_provider_key_sets'),
    await valueOf('iam_provider_key_sets_failing'),
    (await valueOf('iam_provider_keys_failing_age_seconds')) > 0,
  ];
  assert.deepEqual(await shown(), [0, 0, false]);
  assert.equal(await enter(), 200);
  assert.deepEqual(await shown(), [1, 0, false]);
  upstream.publish(undefined);
  assert.equal(await enter(), 200);
  assert.deepEqual(await shown(), [1, 1, true]);
  upstream.publish([{ ...upstream.key.publicKey.export({ format: 'jwk' }), kid: upstream.key.kid }]);
  for (let status = 0; status !== 200 || (await shown())[1] !== 0; ) status = await enter();
  assert.deepEqual(await shown(), [1, 0, false]);
});

test('without the database the gauges of the journal are NaN, and all others have values', async () => {
  const database = await startDatabaseProxy(store.databaseUrl);
  const { valueOf } = await startMeasured({ IAM_DATABASE_URL: database.url });
  await database.cut();
  assert.ok(Number.isNaN(await valueOf('iam_journal_unsettled_events')));
  assert.equal(await valueOf('iam_keys_published'), 1);
});
