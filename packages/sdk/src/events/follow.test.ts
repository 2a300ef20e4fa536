import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCoordination, type TestCoordination } from '@baton/coordination/testing/coordination';
import type { JournalEvent } from '../generated/coordination-types.ts';
import { type BatonClient, createClient } from '../index.ts';
import { type FollowOptions, follow, followBounds } from './follow.ts';

let service: TestCoordination;
let baton: BatonClient;

before(async () => {
  service = await startCoordination();
  const accessToken = async () => ({ accessToken: service.admin.token, expiresIn: 300 });
  baton = createClient({
    coordinationUrl: service.url,
    identityUrl: service.url,
    credential: { accessToken },
  });
});
after(() => service.close());

/** Creates tasks while the journal is followed, and returns the first events. */
async function followed(
  count: number,
  options: FollowOptions,
  make: () => Promise<unknown>,
): Promise<JournalEvent[]> {
  const stop = new AbortController();
  const events: JournalEvent[] = [];
  const following = (async () => {
    for await (const event of baton.events.follow({
      ...options,
      signal: AbortSignal.any([stop.signal, AbortSignal.timeout(60_000)]),
    })) {
      events.push(event);
      if (events.length === count) break;
    }
  })();
  await make();
  await following;
  stop.abort();
  return events;
}

const titlesOf = async (events: readonly JournalEvent[]) =>
  Promise.all(events.map(async ({ entityId }) => (await baton.tasks.get(entityId)).title));

for (const socket of [true, false])
  test(`events are followed in order ${socket ? 'by a socket' : 'page by page'}`, async () => {
    const cursor = (await baton.events.list({ tail: 1 })).nextCursor;
    const titles = Array.from({ length: 5 }, (_, n) => `followed ${n}`);
    const events = await followed(5, { cursor, socket, types: ['task.created'], pollMs: 50 }, async () => {
      for (const title of titles) await baton.tasks.create({ title });
    });
    assert.deepEqual(await titlesOf(events), titles);
  });

test('a store lets the next start go on after the last event that was handled', async () => {
  let kept: string | undefined;
  const store = { read: async () => kept, write: async (text: string) => void (kept = text) };
  const cursor = (await baton.events.list({ tail: 1 })).nextCursor;
  for (const title of ['one', 'two', 'three']) await baton.tasks.create({ title });
  const first = await followed(2, { cursor, store, types: ['task.created'] }, async () => undefined);
  assert.deepEqual(await titlesOf(first), ['one', 'two']);
  // The loop was exited during the second event, so that event counts as not handled and is delivered again.
  const second = await followed(2, { store, types: ['task.created'] }, async () => undefined);
  assert.deepEqual(await titlesOf(second), ['two', 'three']);
});

test('an error of the service is returned without a retry', async () => {
  const following = followed(1, { cursor: 'ec1_nonsense' }, async () => undefined);
  await assert.rejects(following, { code: 'invalid_cursor', status: 422 });
});

test('a silent socket is reopened, and after pages a socket is tried again', async () => {
  const opened: string[] = [];
  const realSocket = globalThis.WebSocket;
  globalThis.WebSocket = class extends realSocket {
    constructor(url: string | URL, protocols?: ConstructorParameters<typeof WebSocket>[1]) {
      opened.push(String(url));
      // The second and third sockets use a service without sockets.
      super([2, 3].includes(opened.length) ? `${String(url)}/none` : url, protocols);
    }
  };
  try {
    const stop = new AbortController();
    const bounds = { ...followBounds, silentMs: 200, pagesMs: 200 };
    const events = follow(baton, { types: ['task.created'], pollMs: 50, signal: stop.signal }, bounds);
    const first = events.next();
    const deadline = performance.now() + 60_000;
    while (opened.length < 5 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 20));
    await baton.tasks.create({ title: 'after them all' });
    assert.deepEqual(await titlesOf([(await first).value as JournalEvent]), ['after them all']);
    assert.ok(opened.length >= 5, `${opened.length} sockets were opened`);
    stop.abort();
    await events.return();
  } finally {
    globalThis.WebSocket = realSocket;
  }
});

/** A simulated socket: the reader receives the events in `brings`. */
class PlayedSocket extends EventTarget {
  static readonly all: PlayedSocket[] = [];
  readonly url: string;
  closes = 0;
  constructor(url: string | URL) {
    super();
    this.url = String(url);
    PlayedSocket.all.push(this);
  }
  brings(data: unknown): void {
    this.dispatchEvent(new MessageEvent('message', { data }));
  }
  close(): void {
    this.closes += 1;
  }
}

/** Follows the journal over simulated sockets, with pages from `baton`. */
async function played(
  work: (
    events: AsyncGenerator<JournalEvent, void, undefined>,
    next: () => Promise<PlayedSocket>,
    stop: AbortController,
  ) => Promise<void>,
  options: FollowOptions = {},
): Promise<void> {
  const realSocket = globalThis.WebSocket;
  globalThis.WebSocket = PlayedSocket as unknown as typeof WebSocket;
  PlayedSocket.all.length = 0;
  const stop = new AbortController();
  let seen = 0;
  try {
    const events = follow(baton, { cursor: '0', ...options, signal: stop.signal });
    const next = async () => {
      while (PlayedSocket.all.length <= seen) await new Promise((resolve) => setTimeout(resolve, 5));
      seen += 1;
      return PlayedSocket.all[seen - 1] as PlayedSocket;
    };
    await work(events, next, stop);
    stop.abort();
    await events.return();
  } finally {
    globalThis.WebSocket = realSocket;
  }
}

const written = (n: number) => JSON.stringify({ id: `event-${n}`, type: 'task.created', cursor: `c${n}` });

test('a slow reader of 100,000 events keeps 5,000, and goes on after the last that it handled', async () => {
  await played(async (events, nextSocket) => {
    const first = events.next();
    const socket = await nextSocket();
    for (let n = 1; n <= 100_000; n += 1) socket.brings(written(n));
    assert.equal(socket.closes, 1);
    assert.equal((await first).value?.id, 'event-1');
    for (let n = 2; n <= 5_000; n += 1) assert.equal((await events.next()).value?.id, `event-${n}`);
    const later = events.next();
    const again = await nextSocket();
    assert.equal(new URL(again.url).searchParams.get('after'), 'c5000');
    again.brings(written(5_001));
    assert.equal((await later).value?.id, 'event-5001');
  });
});

test('after an abort, no buffered event of a socket is delivered', async () => {
  await played(async (events, nextSocket, stop) => {
    const first = events.next();
    const socket = await nextSocket();
    for (let n = 1; n <= 3; n += 1) socket.brings(written(n));
    assert.equal((await first).value?.id, 'event-1');
    stop.abort();
    assert.deepEqual(await events.next(), { value: undefined, done: true });
  });
});

test('after an abort, no further event of a page is delivered', async () => {
  const cursor = (await baton.events.list({ tail: 1 })).nextCursor;
  for (const title of ['heard', 'not heard']) await baton.tasks.create({ title });
  const stop = new AbortController();
  const events = baton.events.follow({ cursor, types: ['task.created'], socket: false, signal: stop.signal });
  assert.deepEqual(await titlesOf([(await events.next()).value as JournalEvent]), ['heard']);
  stop.abort();
  assert.deepEqual(await events.next(), { value: undefined, done: true });
});

test('an abort before the start opens no socket', async () => {
  await played(async () => {
    const stop = new AbortController();
    const store = { read: async () => undefined, write: async () => stop.abort() };
    const bounds = { ...followBounds, silentMs: 200 };
    const events = follow(baton, { store, signal: stop.signal }, bounds);
    assert.deepEqual(await events.next(), { value: undefined, done: true });
    assert.equal(PlayedSocket.all.length, 0);
  });
});

test('a socket that brings what is no event is left, and pages are read instead', async () => {
  await baton.tasks.create({ title: 'after the garbage' });
  await played(
    async (events, nextSocket) => {
      const first = events.next();
      for (const garbage of ['<html>', 'null']) (await nextSocket()).brings(garbage);
      const { value } = await first;
      assert.ok(value && value.cursor.startsWith('ec1_'), JSON.stringify(value));
      assert.deepEqual(
        PlayedSocket.all.map(({ closes }) => closes > 0),
        [true, true],
      );
    },
    { types: ['task.created'] },
  );
});

test('a store knows where to begin from the first start on, before any event came', async () => {
  let kept: string | undefined;
  const store = { read: async () => kept, write: async (text: string) => void (kept = text) };
  const stop = AbortSignal.timeout(60_000);
  const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
  // An event becomes visible only when all transactions that began before it have ended. Until then, the end of the
  // journal is before it.
  const { id: before } = await baton.tasks.create({ title: 'before anybody looked' });
  const newest = async () => (await baton.events.list({ tail: 1 }, { signal: stop })).items[0]?.entityId;
  while ((await newest()) !== before) await pause();
  const first = baton.events.follow({ store, socket: false, pollMs: 20, signal: stop });
  const nothing = first.next();
  while (kept === undefined && !stop.aborted) await pause();
  const { id } = await baton.tasks.create({ title: 'while nobody looked' });
  await nothing;
  await first.return();
  const { value } = await baton.events
    .follow({ store, cursor: '0', types: ['task.created'], socket: false, signal: stop })
    .next();
  assert.equal(value?.entityId, id);
});
