import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { databaseIn } from '@baton/kernel/testing/database/database';
import { newId } from '@baton/values/ids';
import { listen, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import { describeApi } from '../describe.ts';
import { startWorker } from '../worker.ts';

let baton: TestCoordination;

before(async () => {
  baton = await startCoordination({ CP_CORS_ORIGINS: '["https://console.example"]' });
});
after(() => baton.close());

async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}

/** A store address without a listener. */
async function deadAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return `postgresql://nobody@127.0.0.1:${port}/nothing`;
}

test('GET /health/live returns alive without the store', async () => {
  const service = await baton.another({ CP_DATABASE_URL: await deadAddress() });
  const answer = await get(`${service.url}/health/live`);
  assert.deepEqual([answer.status, answer.body], [200, { status: 'alive' }]);
  await service.close();
});

test('GET /health/ready returns ready with the schema revision', async () => {
  const answer = await get(`${baton.url}/health/ready`);
  assert.equal(answer.status, 200);
  assert.equal(answer.body.status, 'ready');
  assert.ok(answer.body.revision >= 1);
});

test('GET /health/ready returns 503 database_unreachable when the database is down', async () => {
  const service = await baton.another({ CP_DATABASE_URL: await deadAddress() });
  const answer = await get(`${service.url}/health/ready`);
  assert.deepEqual(
    [answer.status, answer.body],
    [503, { status: 'unavailable', reason: 'database_unreachable' }],
  );
  await service.close();
});

test('GET /health/ready returns 503 migrations_pending with both revisions on a database without the schema', async () => {
  const name = `baton_empty_${process.pid}`;
  await baton.pool.run({ text: `create database ${name} template template0`, values: [] });
  const service = await baton.another({ CP_DATABASE_URL: databaseIn(baton.databaseUrl, name) });
  const answer = await get(`${service.url}/health/ready`);
  assert.equal(answer.status, 503);
  assert.deepEqual(
    { ...answer.body, headRevision: undefined },
    { status: 'unavailable', reason: 'migrations_pending', dbRevision: 0, headRevision: undefined },
  );
  assert.ok(answer.body.headRevision >= 1);
  await service.close();
  await baton.pool.run({ text: `drop database ${name} with (force)`, values: [] });
});

test('GET /metrics returns counters and the gauges of live objects, without a credential', async () => {
  const { principalId, tenantId } = await baton.actor();
  await baton.pool.run(sql`
    insert into sessions (id, tenant_id, principal_id, client_name, control_level, expires_at)
    values (${newId()}, ${tenantId}, ${principalId}, 'live', 'cooperative', now() + interval '1 minute'),
      (${newId()}, ${tenantId}, ${principalId}, 'dead', 'cooperative', now() - interval '1 minute')`);
  const service = await baton.another();
  const answer = await get(`${service.url}/metrics`);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const text = answer.body as string;
  assert.match(text, /^active_harness_sessions 1$/m);
  assert.match(text, /^active_claims 0$/m);
  assert.match(text, /^active_runs 0$/m);
  assert.match(text, /^orphaned_runs 0$/m);
  assert.match(text, /^journal_horizon_age_seconds [0-9.]+$/m);
  assert.match(text, /^outbox_waiting 0$/m);
  assert.match(text, /^outbox_dead 0$/m);
  for (const counter of [
    'claim_takeovers_total',
    'stale_fencing_rejections_total',
    'run_cancellations_total',
    'event_replay_requests_total',
    'event_replay_events_total',
  ])
    assert.match(text, new RegExp(`^${counter} 0$`, 'm'));
  const again = await get(`${service.url}/metrics`);
  assert.match(again.body, /^http_requests_total\{method="GET",status="200"\} 1$/m);
  await service.close();
});

/** Runs `work` while a transaction that wrote nothing, but could write, is open and idle in this database. */
async function whileForgotten(work: (pid: number) => Promise<void>): Promise<void> {
  await baton.pool.transaction(async (tx) => {
    const row = await tx.row<{ pid: number }>(
      sql`select pg_backend_pid() as pid, pg_current_xact_id()::text as id`,
    );
    await work(row?.pid ?? 0);
  });
}

/**
 * Retries, because other tests share the cluster, and one of their transactions may briefly be older than this test's.
 */
async function until<T>(find: () => Promise<T | undefined>): Promise<T> {
  for (const endsAt = performance.now() + 60_000; performance.now() < endsAt; ) {
    const found = await find();
    if (found !== undefined) return found;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error('not within 60 s');
}

test('journal_horizon_age_seconds is the age of the first delayed event, whatever the number of later ones', async () => {
  await whileForgotten(async () => {
    await writeEvents(baton.pool, baton.tenantId, [{}]);
    await new Promise((done) => setTimeout(done, 2000));
    await writeEvents(baton.pool, baton.tenantId, Array<object>(1200).fill({}));
    const service = await baton.another();
    const { body } = await get(`${service.url}/metrics`);
    const age = Number(/^journal_horizon_age_seconds ([0-9.]+)$/m.exec(body)?.[1]);
    assert.ok(age >= 2 && age < 30, `${age} s`);
    await service.close();
  });
});

test('GET /health/ready reports the process that delays the readers, and stays ready', async () => {
  await whileForgotten(async (pid) => {
    const holder = await until(async () => {
      const { status, body } = await get(`${baton.url}/health/ready`);
      assert.deepEqual([status, body.status], [200, 'ready']);
      return body.detail?.horizonHolder?.pid === pid ? body.detail.horizonHolder : undefined;
    });
    assert.equal(holder.database, new URL(baton.databaseUrl).pathname.slice(1));
    assert.ok(holder.ageSeconds >= 1 && holder.ageSeconds < 30);
  });
  await until(async () =>
    (await get(`${baton.url}/health/ready`)).body.detail === undefined ? true : undefined,
  );
});

test('the logs of the service and the worker warn of a process that delays the readers for 5 s', async () => {
  const lines: { name: string; pid: number; ageSeconds: number; database: string }[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line)) };
  const logOf = (name: string) => createLog({ name, level: 'warn', destination });
  const service = await listen(baton.env, [], logOf('the service'));
  const worker = await startWorker({ env: baton.env, log: logOf('the worker') });
  await whileForgotten(async (pid) => {
    for (const name of ['the service', 'the worker']) {
      const warning = await until(async () => {
        await get(`${service.url}/health/ready`);
        return lines.find((line) => line.name === name && line.pid === pid);
      });
      assert.ok(warning.ageSeconds >= 5);
      assert.equal(warning.database, new URL(baton.databaseUrl).pathname.slice(1));
    }
  });
  await worker.close();
  await service.close();
});

test('GET /metrics returns the counters and a comment when the database is down', async () => {
  const service = await baton.another({ CP_DATABASE_URL: await deadAddress() });
  const answer = await get(`${service.url}/metrics`);
  assert.equal(answer.status, 200);
  assert.match(answer.body, /^# DB gauges unavailable$/m);
  assert.match(answer.body, /^claim_takeovers_total 0$/m);
  assert.doesNotMatch(answer.body, /^active_/m);
  await service.close();
});

test('GET /openapi.json describes the service endpoints, and GET /docs returns a page', async () => {
  const description = await get(`${baton.url}/openapi.json`);
  assert.equal(description.status, 200);
  assert.equal(description.body.openapi, '3.1.0');
  assert.deepEqual(description.body.paths['/health/live'].get.security, []);
  assert.ok(description.body.paths['/metrics'].get.responses['200'].content['text/plain']);
  assert.deepEqual(description.body, JSON.parse(JSON.stringify(describeApi())));
  const page = await get(`${baton.url}/docs`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
});

test('the API is listed by topic, beginning with the first steps of an agent', async () => {
  const { body } = await get(`${baton.url}/openapi.json`);
  const tags = body.tags.map(({ name }: { name: string }) => name);
  assert.deepEqual(tags.slice(0, 8), [
    'Tasks',
    'Sessions',
    'Claims',
    'Runs',
    'Approvals',
    'Artifacts',
    'Comments',
    'Events',
  ]);
  assert.equal(Object.keys(body.paths)[0], '/api/v1/tasks');
  const used = Object.values<Record<string, { tags: string[] }>>(body.paths).flatMap((path) =>
    Object.values(path).flatMap((operation) => operation.tags),
  );
  assert.deepEqual(tags, [...new Set(used)]);
});

test('a page of a listed origin may call the API and read the headers that clients use; other origins may not', async () => {
  const preflight = (origin: string) =>
    fetch(`${baton.url}/api/v1/tasks`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,if-match',
      },
    });
  const allowed = await preflight('https://console.example');
  assert.equal(allowed.status, 204);
  assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://console.example');
  assert.match(allowed.headers.get('access-control-allow-headers') ?? '', /if-match/);
  const refused = await preflight('https://elsewhere.example');
  assert.equal(refused.headers.get('access-control-allow-origin'), null);

  const answer = await get(`${baton.url}/health/live`, { origin: 'https://console.example' });
  assert.equal(answer.headers.get('access-control-allow-origin'), 'https://console.example');
  assert.match(answer.headers.get('access-control-expose-headers') ?? '', /etag/);
  const unknown = await get(`${baton.url}/api/v1/nothing`, { origin: 'https://console.example' });
  assert.equal(unknown.headers.get('access-control-allow-origin'), 'https://console.example');
});

test('CORS is off unless CP_CORS_ORIGINS lists an origin', async () => {
  const service = await baton.another({ CP_CORS_ORIGINS: '' });
  const answer = await get(`${service.url}/health/live`, { origin: 'https://console.example' });
  assert.equal(answer.headers.get('access-control-allow-origin'), null);
  await service.close();
});
