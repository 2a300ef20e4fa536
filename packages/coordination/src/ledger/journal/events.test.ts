import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { foundTenant } from '../../app/bootstrap/found-tenant.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, journalWaitMsMax, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { confirmJournal } from '../../testing/ledger/retention.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
let reader: Actor;
/** Twelve events of the first tenant, in order: task.created, task.updated, run.started, repeated four times. */
let ids: string[];
const taskId = newId();
/** The principal that started the runs. */
const runnerId = newId();

before(async () => {
  baton = await startCoordination();
  reader = await baton.actor({ permissions: ['events.read'] });
  ids = [];
  for (let round = 0; round < 4; round += 1)
    ids.push(
      ...(await writeEvents(baton.pool, baton.tenantId, [
        { type: 'task.created', entity_type: 'task', ...(round === 2 ? { entity_id: taskId } : {}) },
        { type: 'task.updated', entity_type: 'task', entity_id: taskId },
        { type: 'run.started', entity_type: 'run', actor_id: runnerId },
      ])),
    );
  await writeEvents(baton.pool, baton.otherTenantId, [{ type: 'task.created', entity_type: 'task' }]);
  await journalIsStable(baton.pool);
});
after(() => baton.close());

async function read(query: string) {
  const answer = await reader.get(`/events${query}`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body as {
    items: { id: string; type: string; cursor: string; sequence: number }[];
    nextCursor: string;
    hasMore: boolean;
    prevCursor?: string | null;
  };
}
const idsOf = (page: { items: { id: string }[] }) => page.items.map(({ id }) => id);

async function refused(query: string, status: number, code: string) {
  const { status: got, body } = await reader.get(`/events${query}`);
  assert.deepEqual([got, body.error?.code], [status, code], query);
  return body.error.details;
}

test('pages follow each other without a gap or a repeat', async () => {
  const seen: string[] = [];
  let query = '?limit=5';
  for (;;) {
    const page = await read(query);
    seen.push(...idsOf(page));
    if (!page.hasMore) break;
    assert.equal(page.items.length, 5);
    query = `?limit=5&cursor=${page.nextCursor}`;
  }
  assert.deepEqual(seen, ids);
});

test('no other tenant sees any event', async () => {
  const others = await baton.otherAdmin.get('/events');
  assert.equal(others.body.items.length, 1);
});

test('an empty page echoes the input cursor, and a later event follows it', async () => {
  const end = (await read('')).nextCursor;
  const empty = await read(`?cursor=${end}`);
  assert.deepEqual([empty.items, empty.nextCursor, empty.hasMore], [[], end, false]);
  const filtered = await read(`?cursor=${end}&types=task.`);
  assert.equal(filtered.nextCursor, end, "a filter that skipped no event doesn't move the cursor");
  const legacy = await read(`?after=${1_000_000}`);
  assert.deepEqual([legacy.items, legacy.nextCursor], [[], '1000000']);
});

test('nextCursor is a string even for an empty journal, and later events follow it', async () => {
  const { tenantId } = await foundTenant(baton.pool, {
    tenantSlug: 'empty',
    tenantName: 'empty',
    adminDisplayName: 'nobody',
  });
  const actor = await baton.actor({ tenantId, permissions: ['events.read'] });
  const none = await actor.get('/events');
  assert.deepEqual([none.body.items, none.body.hasMore], [[], false]);
  const [id] = await writeEvents(baton.pool, tenantId, [{}]);
  await journalIsStable(baton.pool);
  const page = await actor.get(`/events?cursor=${none.body.nextCursor}`);
  assert.deepEqual(idsOf(page.body), [id]);
});

test('a filtered page that reached the end moves nextCursor past the skipped events', async () => {
  const page = await read('?types=task.created');
  assert.equal(page.items.length, 4);
  assert.equal(page.hasMore, false);
  assert.deepEqual((await read(`?cursor=${page.nextCursor}`)).items, []);
  const none = await read('?types=goal.');
  assert.deepEqual(none.items, []);
  assert.equal(none.nextCursor, page.nextCursor);
});

test('types are prefixes, repeated or separated by commas; an underscore is not a wildcard', async () => {
  assert.equal((await read('?types=task.')).items.length, 8);
  assert.equal((await read('?types=task.created,run.')).items.length, 8);
  assert.equal((await read('?types=task.created&types=run.')).items.length, 8);
  assert.equal((await read('?types=task_created')).items.length, 0);
  assert.equal((await read('?types=t')).items.length, 8);
  assert.equal((await read(`?types=${Array(20).fill('run.').join(',')}`)).items.length, 4);
});

test('a malformed type filter returns 422 invalid_event_type_filter', async () => {
  for (const types of ['', 'Task.', '.task', 'task.,', 'task-', '1task', Array(21).fill('run.').join(',')])
    await refused(`?types=${types}`, 422, 'invalid_event_type_filter');
});

test('entityType and entityId match exactly', async () => {
  assert.equal((await read('?entityType=run')).items.length, 4);
  const stream = await read(`?entityId=${taskId}`);
  assert.deepEqual(
    stream.items.map(({ type }) => type),
    ['task.updated', 'task.updated', 'task.created', 'task.updated', 'task.updated'],
  );
  assert.equal((await read(`?entityId=${taskId}&types=task.created`)).items.length, 1);
  assert.equal((await read(`?entityId=${taskId}&entityType=run`)).items.length, 0);
  const first = await read(`?entityId=${taskId}&limit=2`);
  const second = await read(`?entityId=${taskId}&limit=10&cursor=${first.nextCursor}`);
  assert.deepEqual([...idsOf(first), ...idsOf(second)], idsOf(stream));
  assert.deepEqual((await read(`?cursor=${second.nextCursor}`)).items, []);
});

test('actorId also matches exactly, alone and with other filters, forward and backward', async () => {
  const all = await read(`?actorId=${runnerId}`);
  assert.deepEqual(
    all.items.map(({ type }) => type),
    Array(4).fill('run.started'),
  );
  const newest = await read(`?actorId=${runnerId}&tail=3&limit=3`);
  assert.deepEqual(idsOf(newest), idsOf(all).slice(1));
  const oldest = await read(`?actorId=${runnerId}&before=${newest.prevCursor}`);
  assert.deepEqual([...idsOf(oldest), ...idsOf(newest)], idsOf(all));
  assert.equal((await read(`?actorId=${runnerId}&types=task.`)).items.length, 0);
  assert.equal((await read(`?actorId=${runnerId}&entityId=${taskId}`)).items.length, 0);
  assert.equal((await read(`?actorId=${newId()}&entityId=${taskId}&tail=5`)).items.length, 0);
  assert.equal((await read(`?actorId=${newId()}`)).nextCursor, all.nextCursor);
});

test('tail returns the newest stable events in ascending order, at most limit, with hasMore false', async () => {
  const page = await read('?tail=3');
  assert.deepEqual(idsOf(page), ids.slice(-3));
  assert.equal(page.hasMore, false);
  assert.deepEqual(idsOf(await read('?tail=100&limit=2')), ids.slice(-2));
  assert.deepEqual(idsOf(await read('?tail=100')), ids);
  assert.deepEqual((await read(`?cursor=${page.nextCursor}`)).items, []);
  const filtered = await read('?tail=1&types=task.created');
  assert.deepEqual(idsOf(filtered), [ids[9]]);
  assert.equal(filtered.nextCursor, page.nextCursor);
  for (const tail of ['0', '-1', 'x', '1.5']) await refused(`?tail=${tail}`, 400, 'invalid_request');
});

test('before returns the page that ends just before it; hasMore refers to older events, prevCursor is null at the start', async () => {
  const tail = await read('?tail=4');
  const page = await read(`?before=${tail.prevCursor}&limit=5`);
  assert.deepEqual(idsOf(page), ids.slice(3, 8));
  assert.equal(page.hasMore, true);
  assert.equal(page.nextCursor, page.items.at(-1)?.cursor);
  const first = await read(`?before=${page.prevCursor}&limit=5`);
  assert.deepEqual(idsOf(first), ids.slice(0, 3));
  assert.deepEqual([first.hasMore, first.prevCursor], [false, null]);
  const nothing = await read(`?before=${first.items[0]?.cursor}`);
  assert.deepEqual([nothing.items, nothing.hasMore, nothing.prevCursor], [[], false, null]);
  const ofEntity = await read(`?before=${tail.nextCursor}&limit=2&entityId=${taskId}`);
  assert.equal(ofEntity.items.length, 2);
  assert.equal(ofEntity.hasMore, true);
});

test('order=desc only reverses the items on the page', async () => {
  const page = await read('?limit=3&order=desc');
  assert.deepEqual(idsOf(page), ids.slice(0, 3).toReversed());
  assert.deepEqual(idsOf(await read(`?limit=1&cursor=${page.nextCursor}`)), [ids[3]]);
  await refused('?order=up', 400, 'invalid_request');
});

test('before with cursor, after or tail returns 422 conflicting_cursors', async () => {
  const { nextCursor } = await read('');
  for (const other of [`cursor=${nextCursor}`, 'after=0', 'tail=1']) {
    const details = await refused(`?before=${nextCursor}&${other}`, 422, 'conflicting_cursors');
    assert.deepEqual(details.parameters, ['before', other.split('=')[0]]);
  }
});

test('a bare integer and the older unprefixed form are legacy cursors, which are converted to positions', async () => {
  const { items } = await read('');
  const sequence = items[4]?.sequence as number;
  const old = Buffer.from(JSON.stringify({ sequence })).toString('base64url');
  for (const query of [`cursor=${sequence}`, `after=${sequence}`, `cursor=${old}`]) {
    const page = await read(`?limit=2&${query}`);
    assert.deepEqual(idsOf(page), ids.slice(5, 7), query);
    assert.match(page.nextCursor, /^ec1_/);
    assert.deepEqual(idsOf(await read(`?limit=1&cursor=${page.nextCursor}`)), [ids[7]]);
  }
  assert.deepEqual(idsOf(await read('?after=0&limit=1')), [ids[0]]);
  const { nextCursor } = await read('?limit=1');
  assert.deepEqual(idsOf(await read(`?limit=1&after=nonsense&cursor=${nextCursor}`)), [ids[1]]);
});

test('a legacy number skips no event: those written before it and committed after it follow', async () => {
  const tenantId = baton.otherTenantId;
  const read = async (query: string) => idsOf((await baton.otherAdmin.get(`/events?${query}`)).body);
  await journalIsStable(baton.pool);
  const { nextCursor } = (await baton.otherAdmin.get('/events?tail=1')).body;
  const takeNumber = sql<{ number: string }>`select pg_current_xact_id()::text as number`;
  let [early, late]: string[][] = [[], []];
  let sequence = 0;
  let streamed: string[] = [];
  await baton.pool.transaction(async (older) => {
    await older.row(takeNumber);
    await baton.pool.transaction(async (newer) => {
      late = await writeEvents(newer, tenantId, [{}]);
      early = await writeEvents(older, tenantId, [{}]);
      await older.run(sql`commit`);
      const isRead = async () => (await read(`cursor=${nextCursor}`)).length === 1;
      await until(isRead, 'the page with the earlier event', journalWaitMsMax);
      const page = (await baton.otherAdmin.get(`/events?cursor=${nextCursor}`)).body;
      assert.deepEqual(idsOf(page), early);
      sequence = page.items[0].sequence;
      await older.run(sql`begin`);
    });
  });
  await journalIsStable(baton.pool);
  const old = Buffer.from(JSON.stringify({ sequence })).toString('base64url');
  for (const query of [`after=${sequence}`, `cursor=${sequence}`, `cursor=${old}`])
    assert.deepEqual(await read(query), late, query);
  const stream = openStream(baton.url, { token: baton.otherAdmin.token, query: `?after=${sequence}` });
  streamed = (await stream.received(1, 60_000)).map(({ id }) => id);
  await stream.close();
  assert.deepEqual(streamed, late);
});

test('cursors that cannot be read are refused', async () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  for (const cursor of [
    '',
    'nonsense!',
    '-1',
    '1.5',
    '٣',
    '99999999999999999999',
    'ec1_',
    'ec1_!!',
    `ec1_${encode([1, 2])}`,
    `ec1_${encode({ t: 1 })}`,
    `ec1_${encode({ t: true, s: 1 })}`,
    `ec1_${encode({ t: -1, s: 1 })}`,
    `ec1_${encode({ t: 1, s: 1, x: 1 })}`,
    encode({ sequence: true }),
    encode({ other: 1 }),
    encode(['tasks', 1]),
    'x'.repeat(201),
  ])
    await refused(`?cursor=${encodeURIComponent(cursor)}`, 422, 'invalid_cursor');
  for (const after of ['-1', 'x', '1.5', '', 'ec1_x'])
    await refused(`?after=${after}`, 422, 'invalid_cursor');
  await refused('?before=12', 422, 'invalid_cursor');
  for (const cursor of ['ec2_abc', 'ec0_abc', 'ec10_abc'])
    assert.deepEqual(await refused(`?cursor=${cursor}`, 422, 'unsupported_cursor_version'), {
      supported: ['ec1'],
    });
});

test('workspaceId restricts the events to those filed in it or in its current descendants', async () => {
  const root = await makeWorkspace(baton);
  const child = await makeWorkspace(baton, { parentId: root.id });
  const make = async (workspaceId: string | null) =>
    (await baton.admin.post('/tasks', { title: 'x', workspaceId })).body.id;
  const [inRoot, , inChild] = [await make(root.id), await make(null), await make(child.id)];
  await journalIsStable(baton.pool);
  const entities = async (query: string) =>
    (await read(query)).items.map((event) => (event as unknown as { entityId: string }).entityId);
  assert.deepEqual(await entities(`?workspaceId=${root.id}`), [root.id, child.id, inRoot, inChild]);
  assert.deepEqual(await entities(`?workspaceId=${child.id}`), [child.id, inChild]);
  assert.deepEqual(await entities(`?workspaceId=${child.id}&types=task.`), [inChild]);
  assert.deepEqual(await entities(`?workspaceId=${child.id}&entityId=${inRoot}`), []);
  assert.deepEqual(await entities(`?workspaceId=${child.id}&tail=1`), [inChild]);
  await baton.admin.post(`/workspaces/${child.id}:move`, { newParentId: null });
  await journalIsStable(baton.pool);
  assert.deepEqual(await entities(`?workspaceId=${root.id}`), [root.id, inRoot]);
  const response = await baton.otherAdmin.get(`/events?workspaceId=${root.id}`);
  assert.deepEqual([response.status, response.body.error.details], [404, { workspaceId: root.id }]);
});

test('an unknown workspace returns 404, and limit is bounded', async () => {
  await refused(`?workspaceId=${newId()}`, 404, 'not_found');
  await refused('?limit=0', 422, 'invalid_limit');
  await refused('?limit=201', 422, 'invalid_limit');
  await refused('?limit=x', 400, 'invalid_request');
});

test('an event that is committed above an open transaction is delivered late, never lost', async () => {
  const start = (await read('?tail=1')).nextCursor;
  let late: string[] = [];
  let early: string[] = [];
  await baton.pool.transaction(async (tx) => {
    early = await writeEvents(tx, baton.tenantId, [{}]);
    late = await writeEvents(baton.pool, baton.tenantId, [{}]);
    assert.deepEqual((await read(`?cursor=${start}`)).items, []);
  });
  await journalIsStable(baton.pool);
  assert.deepEqual(idsOf(await read(`?cursor=${start}`)), [...early, ...late]);
});

test('a cursor below deleted history returns 422 cursor_below_journal_floor; without one, the remaining events are read', async () => {
  const { items } = await read('');
  const [old, floor] = [items[1], items[3]];
  const position = sql`
    update journal_floors f set floor_position = e.position, floor_sequence = e.sequence
    from events e where e.id = ${floor?.id} and f.tenant_id = e.tenant_id`;
  await baton.pool.run(position);
  for (const query of [`cursor=${old?.cursor}`, `before=${old?.cursor}`, `after=${old?.sequence}`]) {
    const details = await refused(`?${query}`, 422, 'cursor_below_journal_floor');
    assert.equal(details.floorCursor, floor?.cursor);
    assert.equal(typeof details.requestedCursor, 'string');
  }
  await read(`?cursor=${floor?.cursor}`);
  await read('');
  await baton.pool.run(sql`update journal_floors set floor_position = 0, floor_sequence = 0`);
});

test('the journal refuses update, delete and truncate, even to the owner of the tables', async () => {
  for (const text of [
    `update events set type = 'task.forged'`,
    'delete from events',
    'truncate events',
    'truncate tenants cascade',
    'delete from tenants',
    'update tenants set id = gen_random_uuid()',
  ])
    await assert.rejects(baton.pool.run({ text, values: [] }), /append-only/);
});

test('a legacy number can refer to an archived event, but not to one of another tenant', async () => {
  await confirmJournal(baton.pool, baton.tenantId);
  const archived = await baton.admin.post('/operations/journal:archive', { beforeSeconds: 0 });
  assert.ok(archived.body.archived > 12, JSON.stringify(archived.body));
  const { items } = await read('?limit=10');
  const [named, next] = [items[5]?.sequence, items[6]?.id];
  assert.deepEqual(idsOf(await read(`?limit=1&after=${named}`)), [next]);
  const foreign = (await baton.otherAdmin.get('/events?tail=1')).body.items[0].sequence;
  const above = await read(`?after=${foreign}`);
  assert.ok(above.items.every(({ sequence }) => sequence > foreign));
});
