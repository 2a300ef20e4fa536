import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { type DatabaseProxy, startDatabaseProxy } from '@baton/kernel/testing/database/database-proxy';
import { startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { journalIsStable } from '../testing/ledger/journal-writer.ts';
import { openStream } from '../testing/stream/stream-client.ts';
import { startWorker } from './worker.ts';

/** The network between a process and its database drops every packet without closing any connection. */

let baton: TestCoordination;
before(async () => {
  // Longer than any test waits, so an event that is received must have been announced.
  baton = await startCoordination({ CP_WS_POLL_INTERVAL_SECONDS: '600' });
});
after(() => baton.close());

/** Closes all connections even after a failed assertion: open ones would keep the file running until its timeout. */
async function withProxy(
  work: (
    proxy: DatabaseProxy,
    closing: <T extends { close(): Promise<void> }>(opened: T) => T,
  ) => Promise<void>,
): Promise<void> {
  const opened: { close(): Promise<void> }[] = [];
  const proxy = await startDatabaseProxy(baton.databaseUrl);
  try {
    await work(proxy, (item) => {
      opened.push(item);
      return item;
    });
  } finally {
    for (const item of opened) await item.close();
    await proxy.cut();
  }
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function until(holds: () => boolean | Promise<boolean>, msMax: number): Promise<void> {
  const endsAt = performance.now() + msMax;
  while (performance.now() < endsAt) {
    if (await holds()) return;
    await sleep(20);
  }
  throw new Error(`not within ${msMax} ms`);
}

test('40 requests on silent connections get 503 within 9 s, and 40 new ones succeed within 5 s after recovery', async () => {
  await withProxy(async (proxy, closing) => {
    const service = closing(await baton.another({ CP_DATABASE_URL: proxy.url }));
    const forty = (msMax: number) =>
      Promise.all(
        Array.from({ length: 40 }, async () => {
          const response = await fetch(`${service.url}/api/v1/tasks`, {
            headers: { authorization: `Bearer ${baton.admin.token}` },
            signal: AbortSignal.timeout(msMax),
          });
          await response.text();
          return response.status;
        }),
      );
    assert.deepEqual(new Set(await forty(9000)), new Set([200]));
    proxy.silence();
    assert.deepEqual(new Set(await forty(9000)), new Set([503]));
    proxy.speak();
    const returnedAt = performance.now();
    await until(async () => (await forty(5000)).every((status) => status === 200), 5000);
    assert.ok(performance.now() - returnedAt < 5000);
  });
});

test('a stream is notified of new events within 5 s after the database recovers', async () => {
  await withProxy(async (proxy, closing) => {
    const service = closing(await baton.another({ CP_DATABASE_URL: proxy.url }));
    await journalIsStable(baton.pool);
    const start = (await baton.admin.get('/events?tail=1')).body.nextCursor;
    const stream = openStream(service.url, { token: baton.admin.token, query: `?after=${start}` });
    await once(stream.ws, 'open');
    const told = async (title: string) => {
      const heard = stream.events.length;
      await baton.admin.post('/tasks', { title });
      // A transaction in another test file may delay the journal for longer than 5 s: all share one PostgreSQL.
      await journalIsStable(baton.pool);
      await until(() => stream.events.length > heard, 5000);
    };
    await told('before');
    proxy.silence();
    proxy.speak();
    await told('after');
    stream.ws.terminate();
  });
});

test('the worker works again within 5 s after the database recovers', async () => {
  await withProxy(async (proxy, closing) => {
    const log = createLog({ name: 'worker', level: 'silent' });
    closing(await startWorker({ env: { ...baton.env, CP_DATABASE_URL: proxy.url }, log }));
    const swept = async (key: string, msMax: number) => {
      await baton.pool.run(sql`
        insert into idempotency_keys (tenant_id, key, fingerprint, expires_at)
        values (${baton.tenantId}, ${key}, 'f', now() - interval '1 second')`);
      const left = () => baton.pool.rows(sql`select from idempotency_keys where key = ${key}`);
      await until(async () => (await left()).length === 0, msMax);
    };
    await swept('before', 5000);
    proxy.silence();
    await sleep(3000);
    proxy.speak();
    await swept('after', 5000);
  });
});
