import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '@baton/kernel/database/db';
import type { Statement } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { assertTookLess } from '@baton/testing/depth';
import type { Caller } from '../../service/caller.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { pauseReading, serveStreams } from '../../testing/stream/serve-streams.ts';
import { openStream, type StreamClient } from '../../testing/stream/stream-client.ts';
import { until } from '../../testing/wait-until.ts';
import type { Outlet } from './outlet.ts';
import { PageReaders } from './page-readers.ts';
import { queuedBytesMax, Subscriber } from './subscriber.ts';
import { TenantTail } from './tenant-tail.ts';

let baton: TestCoordination;
let reader: Actor;
before(async () => {
  baton = await startCoordination();
  reader = await baton.actor({ permissions: ['events.read'] });
});
after(() => baton.close());

test('a tenant with many streams that read slowly through its history delays no other tenant', async () => {
  await writeEvents(baton.pool, baton.otherAdmin.tenantId, [{}]);
  await journalIsStable(baton.pool);
  const readMs = 150;
  /** Makes each read of this tenant take as long as one that skips 50,000 events. */
  const db: Db = {
    ...baton.pool,
    async rows<Row>(statement: Statement<Row>) {
      const rows = await baton.pool.rows(statement);
      if (statement.values.includes(baton.tenantId)) await sleep(readMs);
      return rows;
    },
  };
  const served = await serveStreams(baton, { db });
  const many = Array.from({ length: 150 }, () => openStream(served.url, { token: reader.token }));
  try {
    await Promise.all(many.map(({ ws }) => once(ws, 'open')));
    const began = performance.now();
    const one = openStream(served.url, { token: baton.otherAdmin.token });
    await Promise.race([one.received(1), one.ended.then((end) => assert.fail(JSON.stringify(end)))]);
    // If the read came after all 150 earlier ones, it would take 150 * 150 ms / 4 = 5.6 s.
    assertTookLess(began, 2500);
    await one.close();
  } finally {
    for (const { ws } of many) ws.terminate();
    await served.close();
  }
});

/** A connection whose client reads nothing, without buffers of an operating system in between. */
function unreadOutlet(): Outlet & { queuedBytes: number } {
  const outlet = {
    isOpen: true,
    queuedBytes: 0,
    write(bytes: Buffer) {
      outlet.queuedBytes += bytes.length;
    },
    together: (write: () => void) => write(),
    end: () => undefined,
    onceClosed: () => undefined,
    drained: () => (outlet.queuedBytes === 0 ? Promise.resolve() : new Promise<void>(() => undefined)),
  };
  return outlet as unknown as Outlet & { queuedBytes: number };
}

test('queued history counts against the limit until its client has read it', async () => {
  const text = 'x'.repeat(10_000);
  await writeEvents(
    baton.pool,
    baton.tenantId,
    Array.from({ length: 20 }, () => ({ payload: { text } })),
  );
  await journalIsStable(baton.pool);
  const tail = new TenantTail({
    db: baton.pool,
    tenantId: baton.tenantId,
    log: createLog({ name: 'test', level: 'silent' }),
    pollMs: 60_000,
    readPauseMs: () => 10,
    keptBytesMax: () => 1_000_000,
  });
  const pageReaders = new PageReaders();
  const caller = { kind: 'service', tenantId: baton.tenantId, principalId: reader.principalId } as Caller;
  const outlets = Array.from({ length: 400 }, () => unreadOutlet());
  for (const outlet of outlets) {
    const subscriber = new Subscriber({
      outlet,
      db: baton.pool,
      caller,
      credential: '',
      after: undefined,
      typePrefixes: undefined,
      workspaceId: undefined,
      tail,
      pageReaders,
      refusedCursor: () => undefined,
    });
    void subscriber.run();
  }
  await until(
    () => outlets.every(({ queuedBytes }) => queuedBytes > 200_000),
    'the history is queued for all',
  );
  await sleep(100);
  const share = pageReaders.queuedBytesMax(queuedBytesMax);
  // 256 MiB for all streams together.
  assert.equal(share, (256 * 1024 * 1024) / 400);
});

test('a client that sends pings and never reads is disconnected, because its queue occupies memory', async () => {
  const served = await serveStreams(baton, { pingEveryMs: 300 });
  let pings: NodeJS.Timeout | undefined;
  let client: StreamClient | undefined;
  try {
    await journalIsStable(baton.pool);
    const { nextCursor } = (await reader.get('/events?tail=1')).body;
    client = openStream(served.url, { token: reader.token, query: `?after=${nextCursor}` });
    const { ws } = client;
    await once(ws, 'open');
    const socket = served.sockets.at(-1) as Socket;
    let isClosed = false;
    socket.once('close', () => (isClosed = true));
    pauseReading(client);
    // Simulates a client whose window is closed.
    socket.cork();
    const [id] = await writeEvents(baton.pool, baton.tenantId, [{}]);
    assert.ok(id);
    served.stream.wake(baton.tenantId);
    await until(() => socket.writableLength > 0, 'an event is queued');
    pings = setInterval(() => ws.ping(), 100);
    await until(() => isClosed, 'it is disconnected');
  } finally {
    clearInterval(pings);
    client?.ws.terminate();
    await served.close();
  }
});
