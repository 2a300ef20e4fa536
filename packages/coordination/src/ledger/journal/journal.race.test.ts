import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { openStream } from '../../testing/stream/stream-client.ts';

/** The test continues until it has written at least `eventsMin` events, so a busy machine doesn't break it. */
const writingMs = byDepth(1500, 4000);
const eventsMin = 60;

let baton: TestCoordination;
let other: { url: string };
let pool: Pool;
let actor: Actor;

before(async () => {
  baton = await startCoordination();
  other = await baton.another();
  actor = await baton.actor();
  pool = createPool({
    url: baton.databaseUrl,
    connectionsMax: 16,
    applicationName: 'writers',
    statementTimeoutMs: 30_000,
    lockTimeoutMs: 30_000,
    idleInTransactionTimeoutMs: 30_000,
    onError: () => undefined,
  });
});
after(async () => {
  await pool.close();
  await baton.close();
});

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
const upTo = (ms: number) => Math.random() * ms;
class Undone extends Error {}

/** Writes four events, at both ends of a transaction that stays open for a while; some transactions are rolled back. */
async function writeSlowly(openMs: number, undo: boolean): Promise<void> {
  await pool
    .transaction(async (tx) => {
      await writeEvents(tx, baton.tenantId, [{}, {}]);
      await sleep(openMs);
      await writeEvents(tx, baton.tenantId, [{}, {}]);
      if (undo) throw new Undone();
    })
    .catch((error: unknown) => {
      if (!(error instanceof Undone)) throw error;
    });
}

async function createTask(url: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/tasks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${actor.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'written concurrently' }),
  });
  assert.equal(response.status, 201, await response.text());
}

const writers: (() => Promise<void>)[] = [
  ...Array.from({ length: 3 }, () => () => createTask(baton.url)),
  ...Array.from({ length: 3 }, () => () => createTask(other.url)),
  ...Array.from({ length: 4 }, () => () => writeSlowly(100 + upTo(500), false)),
  ...Array.from({ length: 2 }, () => () => writeSlowly(upTo(300), true)),
  ...Array.from({ length: 2 }, () => () => writeSlowly(upTo(20), Math.random() < 0.3)),
  ...Array.from({ length: 2 }, () => async () => {
    await writeEvents(pool, baton.tenantId, [{}]);
    await sleep(upTo(10));
  }),
];

async function readByPages(url: string, limit: number, isOver: () => boolean): Promise<string[]> {
  const seen: string[] = [];
  let cursor = '';
  for (let idle = 0; idle < 3; ) {
    const wasOver = isOver();
    const response = await fetch(`${url}/api/v1/events?limit=${limit}${cursor}`, {
      headers: { authorization: `Bearer ${actor.token}` },
    });
    const page = (await response.json()) as { items: { id: string }[]; nextCursor: string; hasMore: boolean };
    seen.push(...page.items.map(({ id }) => id));
    cursor = `&cursor=${page.nextCursor}`;
    idle = wasOver && page.items.length === 0 ? idle + 1 : 0;
    if (!page.hasMore) await sleep(upTo(50));
  }
  return seen;
}

test('16 parallel writers, some slow, some rolled back, in two processes: readers miss no event and see none twice', async () => {
  const before = await baton.pool.row<{ count: number }>(sql`select count(*) from events`);
  let isOver = false;
  let writes = 0;
  const until = performance.now() + writingMs;
  const streams = [baton.url, other.url].map((url) => openStream(url, { token: actor.token }));
  const pages = [readByPages(baton.url, 200, () => isOver), readByPages(other.url, 7, () => isOver)];
  assert.equal(writers.length, 16);
  await Promise.all(
    writers.map(async (write) => {
      // A quarter of the transactions are rolled back; each of the others writes at least one event.
      for (; performance.now() < until || writes < 2 * eventsMin; writes += 1) await write();
    }),
  );
  // The other streams were open during the writes; this one is opened afterwards and reads everything from the start.
  const late = openStream(other.url, { token: actor.token });
  await journalIsStable(baton.pool);
  isOver = true;

  const stored = await baton.pool.rows<{ id: string }>(sql`
    select id from events where tenant_id = ${baton.tenantId} order by position, sequence`);
  const expected = stored.map(({ id }) => id);
  assert.ok(expected.length > (before?.count as number) + eventsMin, `${expected.length} events`);
  for (const seen of await Promise.all(pages)) assert.deepEqual(seen, expected);
  for (const stream of [...streams, late]) {
    await stream.received(expected.length, 60_000);
    await sleep(50);
    assert.deepEqual(
      stream.events.map(({ id }) => id),
      expected,
    );
    await stream.close();
  }
});
