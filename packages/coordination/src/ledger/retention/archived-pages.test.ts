import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import fc from 'fast-check';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, longTest } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { archiveThrough, makeTenant, pruneThrough, storedEvents } from '../../testing/ledger/retention.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { pagesReadBy } from '../../testing/work/pages-read.ts';
import type { JournalPosition } from '../journal/cursor.ts';
import { typePatternsOf } from '../journal/event-types.ts';
import {
  findEntityEventsForward,
  findEventsBackward,
  findEventsForward,
  findEveryEventBackward,
  findEveryEventForward,
} from '../journal/events.sql.ts';
import { everyEvent, readPageAfter, readPageBefore } from '../journal/read-pages.ts';

let baton: TestCoordination;
let tenantId: string;
let reader: Actor;
let stored: { id: string; type: string; entity_id: string }[];
const types = ['task.created', 'task.updated', 'run.started'] as const;
const entities = ['a', 'b', 'c'].map((last) => `0190b2c4-0000-7000-8000-00000000000${last}`);

before(async () => {
  baton = await startCoordination({ CP_WS_POLL_INTERVAL_SECONDS: '1' });
});
after(() => baton.close());

/** A separate tenant with 60 events of several types and objects. */
beforeEach(async () => {
  tenantId = await makeTenant(baton.pool);
  reader = await baton.actor({ permissions: ['events.read'], tenantId });
  for (let n = 0; n < 20; n += 1)
    await writeEvents(
      baton.pool,
      tenantId,
      [0, 1, 2].map((m) => ({
        type: types[(n * 7 + m) % 3] as string,
        entity_id: entities[(n * 5 + m) % 3] as string,
      })),
    );
  await journalIsStable(baton.pool);
  stored = await baton.pool.rows(sql`
    select id, type, entity_id from events where tenant_id = ${tenantId} order by position, sequence`);
});

const idOf = (index: number) => stored[index]?.id;

test('an archived journal returns the same response to every query, even while only a part of it is moved', async () => {
  const { items } = (await reader.get('/events?limit=60')).body;
  const [early, middle, late] = [items[4], items[30], items[55]];
  const queries = [
    ...[early, middle, late].flatMap(({ cursor, sequence }) => [
      `cursor=${cursor}&limit=9`,
      `cursor=${cursor}&limit=200`,
      `before=${cursor}&limit=9`,
      `before=${cursor}&limit=9&types=run.`,
      `before=${cursor}&limit=200&order=desc`,
      `after=${sequence}&limit=9`,
      `cursor=${cursor}&types=task.created&limit=3`,
      `cursor=${cursor}&entityId=${entities[0]}&limit=4`,
      `before=${cursor}&entityId=${entities[1]}&limit=4`,
      `cursor=${cursor}&entityType=session&limit=40`,
      `cursor=${cursor}&types=nothing.&limit=4`,
    ]),
    '',
    'limit=200',
    'tail=7',
    'tail=200&limit=200',
    'tail=5&types=run.started',
    `tail=3&entityId=${entities[2]}`,
    `entityId=${entities[2]}&types=task.`,
  ];
  const answers = async () =>
    Promise.all(queries.map(async (query) => (await reader.get(`/events?${query}`)).body));
  const atFirst = await answers();
  for (const [through, moved] of [
    [10, 4],
    [30, 0],
    [30, 20],
    [45, 100],
    [59, 100],
  ] as const) {
    await archiveThrough(baton.pool, tenantId, idOf(through), moved);
    const now = await answers();
    queries.forEach((query, n) => {
      assert.deepEqual(now[n], atFirst[n], `${query} with ${through} archived, ${moved} moved`);
    });
  }
  assert.deepEqual(await storedEvents(baton.pool, tenantId), { hot: 0, archived: 60 });
});

test('pages of any length with any filter return each event above the floor once, in order', async () => {
  const cases = fc.record({
    prefix: fc.constantFrom(null, 'task.', 'run.', 'goal.'),
    entityId: fc.constantFrom(null, ...entities),
    limit: fc.integer({ min: 1, max: 40 }),
    scanMax: fc.integer({ min: 1, max: 50 }),
  });
  const check = async (from: number) =>
    fc.assert(
      fc.asyncProperty(cases, async ({ prefix, entityId, limit, scanMax }) => {
        const typePatterns = typePatternsOf(prefix === null ? undefined : [prefix]);
        const request = {
          tenantId,
          filter: { ...everyEvent, typePatterns, entityId },
          limit,
          scanMax: prefix === null ? 1000 : scanMax,
        };
        const expected = stored
          .slice(from)
          .filter(
            (event) =>
              (prefix === null || event.type.startsWith(prefix)) &&
              (entityId ?? event.entity_id) === event.entity_id,
          )
          .map(({ id }) => id);
        assert.deepEqual(await idsForward(request), expected);
        assert.deepEqual(await idsBackward(request), expected);
      }),
      { numRuns: byDepth(4, 12) },
    );
  await archiveThrough(baton.pool, tenantId, idOf(24), 15);
  await check(0);
  await archiveThrough(baton.pool, tenantId, idOf(40), 100);
  await pruneThrough(baton.pool, tenantId, idOf(11), 0);
  await check(12);
  await pruneThrough(baton.pool, tenantId, idOf(19), 5);
  await check(20);
});

type Request = Parameters<typeof readPageAfter>[2];

async function idsForward(request: Request): Promise<string[]> {
  const seen: string[] = [];
  let from: JournalPosition | undefined;
  for (let hasMore = true; hasMore; ) {
    const page = await readPageAfter(baton.pool, from, request);
    seen.push(...page.rows.map(({ id }) => id));
    hasMore = page.hasMore;
    from = page.next ?? from;
  }
  return seen;
}

async function idsBackward(request: Request): Promise<string[]> {
  const seen: string[] = [];
  let from: JournalPosition | undefined;
  do {
    const page = await readPageBefore(baton.pool, from, request);
    seen.unshift(...page.rows.map(({ id }) => id));
    from = page.previous;
  } while (from !== undefined);
  return seen;
}

test('a page that ends early because of its filter skips no event if a prune intervenes', async () => {
  await archiveThrough(baton.pool, tenantId, idOf(59), 100);
  // A prune intervenes between the read of the page and the query that determines where that read ended.
  let statements = 0;
  const db: typeof baton.pool = {
    ...baton.pool,
    async row(statement) {
      statements += 1;
      if (statements === 1) await pruneThrough(baton.pool, tenantId, idOf(19), 20);
      return baton.pool.row(statement);
    },
  };
  const filter = { ...everyEvent, typePatterns: ['run.started'] };
  const seen: string[] = [];
  let from: JournalPosition | undefined;
  for (let hasMore = true; hasMore; ) {
    const page = await readPageAfter(db, from, { tenantId, filter, limit: 40, scanMax: 30 });
    seen.push(...page.rows.map(({ id }) => id));
    hasMore = page.hasMore;
    from = page.next ?? from;
  }
  assert.deepEqual(
    seen,
    stored
      .slice(20)
      .filter(({ type }) => type === 'run.started')
      .map(({ id }) => id),
  );
});

test('a stream from the beginning sends the archive, then the remaining and new events', async () => {
  await archiveThrough(baton.pool, tenantId, idOf(40), 25);
  const stream = openStream(baton.url, { token: reader.token });
  await stream.received(60, 60_000);
  const [later] = await writeEvents(baton.pool, tenantId, [{}]);
  await reader.get('/events?limit=1');
  const events = await stream.received(61, 60_000);
  await stream.close();
  assert.deepEqual(
    events.map(({ id }) => id),
    [...stored.map(({ id }) => id), later],
  );
});

test('a new epoch requested while all events are archived has positions above the archive', async () => {
  await archiveThrough(baton.pool, tenantId, idOf(59), 100);
  const { nextCursor } = (await reader.get('/events?limit=60')).body;
  await baton.pool.run(sql`update journal_epoch set server_started_at = null`);
  const written = await writeEvents(baton.pool, tenantId, [{}]);
  await journalIsStable(baton.pool);
  const { status, body } = await reader.get(`/events?cursor=${nextCursor}`);
  assert.equal(status, 200);
  assert.deepEqual(
    body.items.map(({ id }: { id: string }) => id),
    written,
  );
});

longTest('a page reads no more rows of 20,000 events than of 60, archived or not', async () => {
  await baton.pool.run(sql`
    insert into events (id, tenant_id, type, schema_version, entity_type, entity_id, request_id, payload)
    select gen_random_uuid(), ${tenantId}, 'session.opened', 1, 'session', gen_random_uuid(), 'test', '{}'
    from generate_series(1, 20000)`);
  await journalIsStable(baton.pool);
  const middle = await baton.pool.row<JournalPosition>(sql`
    select position, sequence from events where tenant_id = ${tenantId} order by position, sequence offset 10000 limit 1`);
  const reading = {
    tenantId,
    from: middle as JournalPosition,
    afterSequence: 0,
    filter: everyEvent,
    rowsMax: 51,
    scanMax: 50_000,
    asksHeldBack: false,
  };
  const entity = {
    ...reading,
    from: { position: 0, sequence: 0 },
    filter: { ...everyEvent, entityId: entities[0] as string },
  };
  // 30 to 80 pages are read, depending on the rows that have not been vacuumed yet; all 20,000 events fill 500 pages.
  const pagesMax = 150;
  const check = async (state: string) => {
    for (const statement of [
      findEveryEventForward(reading),
      findEveryEventBackward(reading),
      findEventsForward(reading),
      findEventsBackward(reading),
      findEntityEventsForward(entity),
    ]) {
      const pages = await pagesReadBy(baton.pool, statement);
      assert.ok(pages <= pagesMax, `${pages} pages, ${state}`);
    }
  };
  await check('nothing archived');
  await baton.pool.run(sql`
    update journal_floors f set archive_position = e.position, archive_sequence = e.sequence
    from (select position, sequence from events where tenant_id = ${tenantId} order by position, sequence offset 15000 limit 1) e
    where f.tenant_id = ${tenantId}`);
  for (let n = 0; n < 16; n += 1) await baton.pool.row(sql`select move_to_archive(${tenantId}, 1000)`);
  await check('most of it archived');
});
