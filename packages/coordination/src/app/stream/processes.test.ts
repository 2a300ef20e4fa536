// Two processes of the API and one of the worker on one database, as behind a load balancer.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startDatabaseProxy } from '@baton/kernel/testing/database/database-proxy';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import {
  type Actor,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { type ServiceProcess, startProcess } from '../../testing/programs/service-processes.ts';
import { openStream, type StreamClient } from '../../testing/stream/stream-client.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
let reader: Actor;
const processes: ServiceProcess[] = [];

before(async () => {
  baton = await startCoordination();
  reader = await baton.actor({ permissions: ['events.read'] });
  // Longer than any test waits, so an event that is received must have been announced.
  const env = { ...baton.env, CP_WS_POLL_INTERVAL_SECONDS: '600' };
  processes.push(
    ...(await Promise.all([
      startProcess('serve', env),
      startProcess('serve', env),
      startProcess('worker', env),
    ])),
  );
});
after(async () => {
  await Promise.all(processes.map((one) => one.stop()));
  await baton.close();
});

const apiAt = (n: number) => (processes[n] as ServiceProcess).url;

async function openAtEnd(url: string, actor = reader): Promise<StreamClient> {
  await journalIsStable(baton.pool);
  const { nextCursor } = (await actor.get('/events?tail=1')).body;
  const client = openStream(url, { token: actor.token, query: `?after=${nextCursor}` });
  await once(client.ws, 'open');
  return client;
}

async function makeTask(url: string): Promise<string> {
  const sent = { token: baton.admin.token, body: { title: 'received from every process' } };
  const { status, body } = await sendRequest(`${url}/api/v1/tasks`, 'POST', sent);
  assert.equal(status, 201);
  return body.id;
}

const entitiesOf = ({ events }: StreamClient) =>
  events.map((event) => (event as unknown as { entityId: string }).entityId);

test('events of each process of the API reach the sockets of all processes, in one order', async () => {
  const streams = [await openAtEnd(apiAt(0)), await openAtEnd(apiAt(1))];
  const made: string[] = [];
  for (let n = 0; n < 20; n += 1) made.push(await makeTask(apiAt(n % 2)));
  for (const stream of streams) {
    await stream.received(made.length);
    assert.deepEqual(entitiesOf(stream), made);
    await stream.close();
  }
});

test('events of the worker reach the sockets of all processes', async () => {
  const streams = [await openAtEnd(apiAt(0)), await openAtEnd(apiAt(1))];
  const sessionId = newId();
  await baton.pool.run(sql`
    insert into sessions (id, tenant_id, principal_id, client_name, control_level, expires_at)
    values (${sessionId}, ${baton.tenantId}, ${reader.principalId}, 'x', 'connected', now() - interval '1 second')`);
  for (const stream of streams) {
    const [event] = await stream.received(1);
    assert.deepEqual([event?.type, entitiesOf(stream)], ['session.expired', [sessionId]]);
    await stream.close();
  }
});

test('a process whose connection for notifications is killed, and cannot be opened again, finds events by polling', async () => {
  const proxy = await startDatabaseProxy(baton.databaseUrl);
  const service = await baton.another({
    CP_DATABASE_LISTEN_URL: proxy.url,
    CP_WS_POLL_INTERVAL_SECONDS: byDepth('1', '5'),
  });
  const listeners = async () =>
    (
      await baton.pool.row<{ n: number }>(sql`
        select count(*)::int as n from pg_stat_activity
        where datname = current_database() and application_name = 'baton-coordination (listening)'`)
    )?.n;
  const stream = await openAtEnd(service.url);
  await makeTask(apiAt(0));
  await stream.received(1);
  // The stream's poll may have delivered the first event before the connection for notifications was open, so wait for
  // that.
  await until(
    async () => (await listeners()) === 4,
    'the connections of this service, of the first process and of both others',
  );
  const killed = proxy.cut();
  await baton.pool.rows(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'baton-coordination (listening)'`);
  await killed;
  await until(async () => (await listeners()) === 3, 'the connections of the others');
  const began = performance.now();
  await makeTask(apiAt(0));
  await stream.received(2);
  assertTookLess(began, 15_000, 'an event that is found by polling every 5 s');
  await stream.close();
  await service.close();
});

test('a killed process leaves its clients a cursor with which they continue at another process', async () => {
  const victim = await startProcess('serve', baton.env);
  const first = await openAtEnd(victim.url);
  await makeTask(victim.url);
  const [seen] = await first.received(1);
  await victim.stop('SIGKILL');
  assert.equal((await first.ended).code, 1006);
  const missed = await makeTask(apiAt(0));
  const second = openStream(apiAt(1), { token: reader.token, query: `?after=${seen?.cursor}` });
  await second.received(1);
  assert.deepEqual(entitiesOf(second), [missed]);
  await second.close();
});
