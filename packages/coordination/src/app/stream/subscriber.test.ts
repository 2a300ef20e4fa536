import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { byDepth } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { pauseReading, type ServedStreams, serveStreams } from '../../testing/stream/serve-streams.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { partBytesMax } from './batch.ts';
import type { EventStream } from './event-stream.ts';
import { queuedBytesMax } from './subscriber.ts';

let baton: TestCoordination;
let reader: Actor;
let stream: EventStream;
let url: string;
let served: ServedStreams;

before(async () => {
  baton = await startCoordination();
  reader = await baton.actor({ permissions: ['events.read'] });
  served = await serveStreams(baton);
  ({ url, stream } = served);
});
after(async () => {
  await served.close();
  await baton.close();
});

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
const textBytes = 20_000;
/** More events than fit into a stream's queue and the socket buffers. */
const many = byDepth(500, 1000);

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

for (const isFollowing of [true, false])
  test(`a client that stops reading while it ${isFollowing ? 'follows' : 'catches up'} has a bounded queue, and gets everything in order later`, async () => {
    await journalIsStable(baton.pool);
    const start = (await reader.get('/events?tail=1')).body.nextCursor;
    const early = isFollowing ? [] : await write(many);
    const slow = openStream(url, { token: reader.token, query: `?after=${start}` });
    const slowSocket = () => served.sockets.at(-1) as Socket;
    await once(slow.ws, 'open');
    const serverSocket = slowSocket();
    if (isFollowing) await sleep(100);
    const resume = pauseReading(slow);
    const quick = openStream(url, { token: reader.token, query: `?after=${start}` });

    const late = await write(many);
    let mostBytes = 0;
    // On a busy machine the first bytes may take seconds to be queued; the interval of pings is longer.
    for (let n = 0; n < 30 || (n < 1000 && mostBytes === 0); n += 1) {
      mostBytes = Math.max(mostBytes, serverSocket.writableLength);
      await sleep(10);
    }
    assert.ok(mostBytes > textBytes, 'the queue is not empty');
    assert.ok(mostBytes < queuedBytesMax + partBytesMax, `${mostBytes} bytes are queued`);
    const expected = [...early, ...late];
    await quick.received(expected.length);

    resume();
    await slow.received(expected.length);
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
    await client.received(expected.length);
    assert.deepEqual(
      client.events.map(({ id }) => id),
      expected,
    );
  }
  await Promise.all(clients.map((client) => client.close()));
});

test('the shared reader starts again for the next stream after its last one has left', async () => {
  for (let round = 0; round < 5; round += 1) {
    await journalIsStable(baton.pool);
    const start = (await reader.get('/events?tail=1')).body.nextCursor;
    const client = openStream(url, { token: reader.token, query: `?after=${start}` });
    await once(client.ws, 'open');
    await sleep(20);
    const [id] = await writeEvents(baton.pool, baton.tenantId, [{}]);
    stream.wake(baton.tenantId);
    // Unsubscribes while the shared reader may be reading, and subscribes again.
    client.ws.terminate();
    stream.wake(baton.tenantId);
    const next = openStream(url, { token: reader.token, query: `?after=${start}` });
    const [event] = await next.received(1);
    assert.equal(event?.id, id);
    const [later] = await writeEvents(baton.pool, baton.tenantId, [{}]);
    stream.wake(baton.tenantId);
    assert.equal((await next.received(2))[1]?.id, later);
    await next.close();
  }
});

test('a client that neither responds nor reads is disconnected; one that only reads stays', async () => {
  const pingEveryMs = 500;
  const { url, sockets, close } = await serveStreams(baton, { pingEveryMs });
  await journalIsStable(baton.pool);
  const start = (await reader.get('/events?tail=1')).body.nextCursor;
  const dead = openStream(url, { token: reader.token, query: `?after=${start}` });
  await once(dead.ws, 'open');
  const deadSocket = sockets.at(-1) as Socket;
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
