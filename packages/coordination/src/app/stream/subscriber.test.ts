import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { createListener, openPort } from '@baton/kernel/listener';
import { createLog } from '@baton/kernel/log';
import { createAuthenticator } from '../../access/authn/authenticate.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/journal-writer.ts';
import { openStream } from '../../testing/stream-client.ts';
import { readCoordinationSettings } from '../settings.ts';
import { EventStream } from './event-stream.ts';
import { queuedBytesMax } from './subscriber.ts';

let baton: TestCoordination;
let reader: Actor;
let stream: EventStream;
let url: string;
/** What the service writes to, newest last. */
const serverSockets: Socket[] = [];
let closeServer: () => Promise<void>;

before(async () => {
  baton = await startCoordination();
  reader = await baton.actor({ permissions: ['events.read'] });
  ({ url, stream, close: closeServer } = await serveStreams());
});
after(async () => {
  await closeServer();
  await baton.close();
});

/** Serves streams that are woken by the test only. */
async function serveStreams(options: { pingEveryMs?: number } = {}) {
  const settings = readCoordinationSettings({ ...baton.env, CP_WS_POLL_INTERVAL_SECONDS: '60' });
  const log = createLog({ name: 'test', level: 'silent' });
  const authenticator = createAuthenticator(baton.pool, settings, log, settings.CP_DATABASE_CONNECTIONS_MAX);
  const health = { refusedCursor: () => undefined };
  const stream = new EventStream({ db: baton.pool, settings, log, authenticator, health, ...options });
  const server = createListener({
    handler: (_req, res) => res.end(),
    upgrade(req, socket, head) {
      serverSockets.push(socket as Socket);
      stream.upgrade(req, socket, head);
    },
  });
  await openPort(server, '127.0.0.1', 0);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stream,
    async close() {
      await stream.close();
      await new Promise((done) => server.close(done));
    },
  };
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
const textBytes = 20_000;

async function write(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let left = count; left > 0; left -= 100) {
    const drafts = Array.from({ length: Math.min(left, 100) }, () => ({
      payload: { text: 'x'.repeat(textBytes) },
    }));
    ids.push(...(await writeEvents(baton.pool, baton.tenantId, drafts)));
    stream.wake(baton.tenantId);
  }
  return ids;
}

function pauseReading(client: ReturnType<typeof openStream>): () => void {
  const socket = (client.ws as unknown as { _socket: Socket })._socket;
  socket.pause();
  return () => socket.resume();
}

for (const isFollowing of [true, false])
  test(`a client that stops reading while it ${isFollowing ? 'follows' : 'catches up'} has a bounded number of bytes queued, and gets everything in order later`, async () => {
    await journalIsStable(baton.pool);
    const start = (await reader.get('/events?tail=1')).body.nextCursor;
    const early = isFollowing ? [] : await write(1000);
    const slow = openStream(url, { token: reader.token, query: `?after=${start}` });
    const slowSocket = () => serverSockets.at(-1) as Socket;
    await once(slow.ws, 'open');
    const serverSocket = slowSocket();
    if (isFollowing) await sleep(100);
    const resume = pauseReading(slow);
    const quick = openStream(url, { token: reader.token, query: `?after=${start}` });

    const late = await write(1000);
    let mostBytes = 0;
    // A loaded machine may take seconds until the first bytes are queued; pings are farther apart.
    for (let n = 0; n < 30 || (n < 1000 && mostBytes === 0); n += 1) {
      mostBytes = Math.max(mostBytes, serverSocket.writableLength);
      await sleep(10);
    }
    assert.ok(mostBytes > textBytes, 'something is queued');
    assert.ok(mostBytes < queuedBytesMax + 2 * textBytes, `${mostBytes} bytes are queued`);
    const expected = [...early, ...late];
    await quick.received(expected.length, 30_000);

    resume();
    await slow.received(expected.length, 30_000);
    for (const { events } of [slow, quick])
      assert.deepEqual(
        events.map(({ id }) => id),
        expected,
      );
    await slow.close();
    await quick.close();
  });

test('many streams opened at once all get every event', async () => {
  await journalIsStable(baton.pool);
  const start = (await reader.get('/events?tail=1')).body.nextCursor;
  const expected: string[] = [];
  const clients = [];
  for (let n = 0; n < 60; n += 1) {
    clients.push(openStream(url, { token: reader.token, query: `?after=${start}` }));
    expected.push(...(await writeEvents(baton.pool, baton.tenantId, [{}, {}, {}])));
    stream.wake(baton.tenantId);
    if (n % 7 === 0) await clients.shift()?.close();
  }
  for (const client of clients) {
    await client.received(expected.length, 20_000);
    assert.deepEqual(
      client.events.map(({ id }) => id),
      expected,
    );
  }
  await Promise.all(clients.map((client) => client.close()));
});

test('the shared reader, left by its last stream, starts again for the next one', async () => {
  for (let round = 0; round < 5; round += 1) {
    await journalIsStable(baton.pool);
    const start = (await reader.get('/events?tail=1')).body.nextCursor;
    const client = openStream(url, { token: reader.token, query: `?after=${start}` });
    await once(client.ws, 'open');
    await sleep(20);
    const [id] = await writeEvents(baton.pool, baton.tenantId, [{}]);
    stream.wake(baton.tenantId);
    // Leaves while the shared reader may be reading, and comes back.
    client.ws.terminate();
    stream.wake(baton.tenantId);
    const next = openStream(url, { token: reader.token, query: `?after=${start}` });
    const [event] = await next.received(1, 5000);
    assert.equal(event?.id, id);
    const [later] = await writeEvents(baton.pool, baton.tenantId, [{}]);
    stream.wake(baton.tenantId);
    assert.equal((await next.received(2, 5000))[1]?.id, later);
    await next.close();
  }
});

test('a client that neither answers nor reads is dropped; one that only reads stays', async () => {
  const pingEveryMs = 500;
  const { url, close } = await serveStreams({ pingEveryMs });
  await journalIsStable(baton.pool);
  const start = (await reader.get('/events?tail=1')).body.nextCursor;
  const dead = openStream(url, { token: reader.token, query: `?after=${start}` });
  await once(dead.ws, 'open');
  const deadSocket = serverSockets.at(-1) as Socket;
  const listening = openStream(url, { token: reader.token, query: `?after=${start}` });
  await once(listening.ws, 'open');
  pauseReading(dead);
  await once(deadSocket, 'close');
  await sleep(pingEveryMs * 3);
  assert.equal(listening.ws.readyState, listening.ws.OPEN);
  await listening.close();
  dead.ws.terminate();
  await close();
});
