import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type PoolerProxy, startPoolerProxy } from '@baton/kernel/testing/database/pooler-proxy';
import { startIdentity, type TestIdentity } from '../testing/identity.ts';

/** Tests the detection of a pooler at startup; `e2e/pooler.long.test.ts` uses a real one. */

let identity: TestIdentity;
let pooler: PoolerProxy;
/** A role whose settings the pooler drops, and a role without these settings. */
const role = `baton_iam_pooled_${process.pid}`;
const bareRole = `baton_iam_bare_${process.pid}`;
const run = (text: string) => identity.pool.run({ text, values: [] });

before(async () => {
  identity = await startIdentity();
  pooler = await startPoolerProxy(identity.databaseUrl);
  for (const name of [role, bareRole]) await run(`create role ${name} superuser login`);
  for (const [setting, value] of [
    ['TimeZone', 'UTC'],
    ['enable_seqscan', 'off'],
    ['jit', 'off'],
    ['statement_timeout', '10s'],
    ['lock_timeout', '10s'],
    ['idle_in_transaction_session_timeout', '10s'],
  ])
    await run(`alter role ${role} set ${setting} = '${value}'`);
});
after(async () => {
  await pooler?.close();
  for (const name of [role, bareRole]) await run(`drop role if exists ${name}`);
  await identity.close();
});

function urlOf(name: string): string {
  const url = new URL(pooler.url);
  url.username = name;
  url.password = '';
  return url.href;
}

test('a start is refused with what to run where a pooler keeps back the settings of a session', async () => {
  await assert.rejects(
    identity.another({ IAM_DATABASE_URL: urlOf(bareRole) }),
    new RegExp(
      `IAM_DATABASE_URL .* run alter role ${bareRole} set .*enable_seqscan = off;.*statement_timeout = '10s'`,
    ),
  );
});

test('where the role carries the settings it starts, and prepares statements under names only if it may', async () => {
  const tenant = { slug: 'pooled', name: 'Pooled' };
  const unnamed = await identity.another({
    IAM_DATABASE_URL: urlOf(role),
    IAM_DATABASE_NAMED_STATEMENTS: 'false',
  });
  assert.equal((await unnamed.post('/tenants', tenant)).status, 201);
  assert.equal((await unnamed.get('/events')).status, 200);
  await unnamed.close();
  assert.deepEqual([...pooler.prepared], []);
  const named = await identity.another({ IAM_DATABASE_URL: urlOf(role) });
  await named.get('/events');
  await named.close();
  assert.ok(pooler.prepared.size > 0);
});
