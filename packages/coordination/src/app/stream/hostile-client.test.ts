import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertTookLess } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import {
  pauseReading,
  type ServedStreams,
  type ServeOptions,
  serveStreams,
} from '../../testing/stream/serve-streams.ts';
import { openStream, type StreamClient } from '../../testing/stream/stream-client.ts';
import { until } from '../../testing/wait-until.ts';
import { fail } from '../errors.ts';

let baton: TestCoordination;
let reader: Actor;

before(async () => {
  baton = await startCoordination();
  reader = await baton.actor({ permissions: ['events.read'] });
});
after(() => baton.close());

/** Closes the streams when a test ends, whatever its result. */
async function serving(options: ServeOptions, work: (served: ServedStreams) => Promise<void>): Promise<void> {
  const served = await serveStreams(baton, options);
  try {
    await work(served);
  } finally {
    await served.close();
  }
}

async function openAtEnd({ url }: ServedStreams): Promise<StreamClient> {
  await journalIsStable(baton.pool);
  const { nextCursor } = (await reader.get('/events?tail=1')).body;
  const client = openStream(url, { token: reader.token, query: `?after=${nextCursor}` });
  await once(client.ws, 'open');
  return client;
}

/** The number of bytes that the service has read from a client. */
const takenFrom = (socket: Socket | undefined) => socket?.bytesRead ?? 0;

test('pongs for a client that sends pings and reads nothing do not fill the memory', async () => {
  await serving({}, async (served) => {
    const client = await openAtEnd(served);
    const socket = served.sockets.at(-1) as Socket;
    let pongs = 0;
    client.ws.on('pong', () => (pongs += 1));
    client.ws.ping('x');
    await until(() => pongs === 1);
    // Holds back all writes, as for a client whose window is closed.
    socket.cork();
    for (let n = 0; n < 20_000; n += 1) client.ws.ping(Buffer.alloc(125));
    const quiet = takenFrom(socket);
    await until(() => takenFrom(socket) > quiet);
    await sleep(300);
    assert.ok(socket.writableLength < 32 * 1024, `${socket.writableLength} bytes of pongs are queued`);
    socket.uncork();
    client.ws.terminate();
  });
});

test('frames of a client that sends without end are read at a limited rate, and the client still gets its events', async () => {
  await serving({}, async (served) => {
    const client = await openAtEnd(served);
    const socket = served.sockets.at(-1) as Socket;
    const frame = Buffer.alloc(4000);
    let sending = true;
    const flood = (async () => {
      while (sending) {
        client.ws.send(frame);
        if (client.ws.bufferedAmount > 1_000_000) await sleep(5);
      }
    })();
    const [began, before] = [performance.now(), takenFrom(socket)];
    await sleep(2500);
    const [id] = await writeEvents(baton.pool, baton.tenantId, [{}]);
    served.stream.wake(baton.tenantId);
    assert.equal((await client.received(1))[0]?.id, id);
    const seconds = (performance.now() - began) / 1000;
    const framesPerSecond = (takenFrom(socket) - before) / frame.length / seconds;
    sending = false;
    await flood;
    // 100 frames are allowed, plus those that one read of the socket contained beyond them.
    assert.ok(framesPerSecond < 400, `${framesPerSecond.toFixed(0)} frames a second were read`);
    client.ws.terminate();
  });
});

test('a client behind a proxy that reads everything but never responds to a ping is disconnected', async () => {
  await serving({ pingEveryMs: 300 }, async (served) => {
    const client = await openAtEnd(served);
    const socket = served.sockets.at(-1) as Socket;
    // Simulates a client whose machine is down, while a proxy in between continues to read and keeps the connection
    // open.
    (
      client.ws as unknown as { _receiver: { removeAllListeners(name: string): void } }
    )._receiver.removeAllListeners('ping');
    await once(socket, 'close');
    assert.equal((await client.ended).code, 1006);
  });
});

test('pages for a slow client are not kept in memory: what it cannot receive is read again later', async () => {
  const text = 'x'.repeat(20_000);
  await serving({}, async (served) => {
    await journalIsStable(baton.pool);
    const { nextCursor } = (await reader.get('/events?tail=1')).body;
    const drafts = Array.from({ length: 400 }, () => ({ payload: { text } }));
    const expected = await writeEvents(baton.pool, baton.tenantId, drafts);
    await journalIsStable(baton.pool);
    const clients = Array.from({ length: 5 }, () =>
      openStream(served.url, { token: reader.token, query: `?after=${nextCursor}` }),
    );
    const resumes = await Promise.all(
      clients.map(async (client) => {
        await once(client.ws, 'open');
        return pauseReading(client);
      }),
    );
    await until(() => served.sockets.every((socket) => socket.writableLength > 0));
    await sleep(200);
    for (const resume of resumes) resume();
    for (const client of clients) {
      await client.received(expected.length);
      assert.deepEqual(
        client.events.map(({ id }) => id),
        expected,
      );
      await client.close();
    }
  });
});

test('a right that is lost while a stream is being opened ends it at once, not at the next check', async () => {
  let judged = 0;
  const judge: ServeOptions['judge'] = (real, stream) => ({
    async enter(credential) {
      judged += 1;
      if (judged > 1) return fail('invalid_credentials');
      const caller = await real.enter(credential);
      // A change that is announced after the authorization and before the stream is registered.
      stream().checkAgain(reader.iamPrincipalId);
      return caller;
    },
  });
  await serving({ judge }, async ({ url }) => {
    const began = performance.now();
    assert.equal((await openStream(url, { token: reader.token }).ended).code, 4401);
    // The next poll takes place after 600 s, so it can't have ended the stream.
    assertTookLess(began, 20_000);
  });
});

test('the streams of one credential are checked together', async () => {
  let judged = 0;
  const judge: ServeOptions['judge'] = (real) => ({
    enter(credential) {
      judged += 1;
      return real.enter(credential);
    },
  });
  await serving({ judge }, async (served) => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => openAtEnd(served)));
    await until(() => judged === clients.length);
    await sleep(100);
    judged = 0;
    served.stream.checkAgain();
    await until(() => judged > 0);
    await sleep(200);
    assert.equal(judged, 1);
    await Promise.all(clients.map((client) => client.close()));
  });
});
