import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type PoolerProxy, startPoolerProxy } from '@baton/kernel/testing/database/pooler-proxy';
import {
  type Answer,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../testing/coordination.ts';

/** Tests the detection of poolers at startup; `e2e/pooler.long.test.ts` uses a real one. */

let baton: TestCoordination;
let pooler: PoolerProxy;
/** A role with the settings that the pooler doesn't pass on, and one without them. */
const role = `baton_pooled_${process.pid}`;
const bareRole = `baton_bare_${process.pid}`;
const run = (text: string) => baton.pool.run({ text, values: [] });

before(async () => {
  baton = await startCoordination();
  pooler = await startPoolerProxy(baton.databaseUrl);
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
  await baton.close();
});

function urlOf(name: string): string {
  const url = new URL(pooler.url);
  url.username = name;
  url.password = '';
  return url.href;
}

const pooled = () => ({ CP_DATABASE_URL: urlOf(role), CP_DATABASE_LISTEN_URL: baton.databaseUrl });

async function useIt(url: string): Promise<Answer> {
  const { token } = baton.admin;
  const session = await sendRequest(`${url}/api/v1/sessions`, 'POST', {
    token,
    body: { clientName: 'test' },
  });
  const task = await sendRequest(`${url}/api/v1/tasks`, 'POST', { token, body: { title: 'pooled' } });
  return sendRequest(`${url}/api/v1/tasks/${task.body.id}:claim`, 'POST', {
    token,
    body: { sessionId: session.body.id, ttlSeconds: 60 },
    headers: { 'idempotency-key': 'once' },
  });
}

test('if a pooler drops the settings of a session, the start is refused with the statement to run', async () => {
  await assert.rejects(
    baton.another({ ...pooled(), CP_DATABASE_URL: urlOf(bareRole) }),
    new RegExp(
      `CP_DATABASE_URL .* run alter role ${bareRole} set .*enable_seqscan = off;.*statement_timeout = '10s'`,
    ),
  );
});

test('a start is refused if the address for LISTEN uses a pooler', async () => {
  const refused = /set CP_DATABASE_LISTEN_URL to the address of PostgreSQL itself/;
  await assert.rejects(baton.another({ ...pooled(), CP_DATABASE_LISTEN_URL: '' }), refused);
  await assert.rejects(baton.another({ ...pooled(), CP_DATABASE_LISTEN_URL: pooler.url }), refused);
});

test('if the role has the settings, the service starts, and prepares named statements only if allowed', async () => {
  const unnamed = await baton.another({ ...pooled(), CP_DATABASE_NAMED_STATEMENTS: 'false' });
  assert.equal((await useIt(unnamed.url)).status, 200);
  await unnamed.close();
  assert.deepEqual([...pooler.prepared], []);
  const named = await baton.another(pooled());
  await useIt(named.url);
  await named.close();
  assert.ok(pooler.prepared.size > 0);
});

test('an unavailable database does not prevent a start', async () => {
  const away = { CP_DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', CP_DATABASE_LISTEN_URL: '' };
  const service = await baton.another(away);
  assert.equal((await fetch(`${service.url}/health/live`)).status, 200);
  await service.close();
  assert.equal((await baton.pool.rows(sql`select 1`)).length, 1);
});
