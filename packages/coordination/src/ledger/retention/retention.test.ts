import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import {
  type Actor,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import { confirmJournal, makeTenant, storedEvents } from '../../testing/ledger/retention.ts';
import { encodeCursor } from '../journal/cursor.ts';

let baton: TestCoordination;
let tenantId: string;
let operator: Actor;
let reader: Actor;

before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

/** Each test has its own tenant. */
beforeEach(async () => {
  tenantId = await makeTenant(baton.pool);
  operator = await baton.actor({ permissions: ['operations.manage'], tenantId });
  reader = await baton.actor({ permissions: ['events.read'], tenantId });
});

const origin = encodeCursor({ position: 0, sequence: 0 });
const thirtyDays = 2_592_000;

async function write(count: number): Promise<string[]> {
  const ids = await writeEvents(
    baton.pool,
    tenantId,
    Array.from({ length: count }, () => ({})),
  );
  await confirmJournal(baton.pool, tenantId);
  return ids;
}

const archive = async (body?: object, headers?: Record<string, string>) => {
  const { status, body: answer } = await operator.post('/operations/journal:archive', body, headers);
  assert.equal(status, 200, JSON.stringify(answer));
  return answer;
};
const prune = async (body?: object) => {
  const { status, body: answer } = await operator.post('/operations/journal:prune', body);
  assert.equal(status, 200, JSON.stringify(answer));
  return answer;
};
const page = async (query = '') => {
  const { status, body } = await reader.get(`/events?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};
const readIds = async (query = 'limit=200') => (await page(query)).items.map(({ id }: { id: string }) => id);
const stored = () => storedEvents(baton.pool, tenantId);

/** The journal's own events of archiving and pruning, oldest first. */
const retentionEvents = () =>
  baton.pool.rows<{ type: string; entity_id: string; actor_id: string; payload: object }>(sql`
    select type, entity_id, actor_id, payload from events
    where tenant_id = ${tenantId} and type like 'event\_journal.%' order by position, sequence`);

/** Makes the events look as if they had been written this many seconds ago. */
async function age(ids: readonly string[], seconds: number): Promise<void> {
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    for (const table of ['events', 'archived_events'])
      await tx.run({
        text: `update ${table} set occurred_at = now() - make_interval(secs => $2) where id = any ($1)`,
        values: [ids, seconds],
      });
  });
}

test('archive moves events that are confirmed and old enough, and returns the last position', async () => {
  const ids = await write(3);
  const { items } = await page();
  assert.deepEqual(await archive({ beforeSeconds: 0 }), {
    archived: 3,
    journalFloorCursor: items[2].cursor,
    archiveFloorCursor: origin,
    minAgeSeconds: 0,
  });
  assert.deepEqual(await stored(), { hot: 1, archived: 3 });
  const [event, ...more] = await retentionEvents();
  assert.deepEqual(more, []);
  assert.deepEqual(event, {
    type: 'event_journal.archived',
    entity_id: tenantId,
    actor_id: operator.principalId,
    payload: { archived: 3, throughCursor: items[2].cursor, minAgeSeconds: 0 },
  });
  assert.deepEqual((await readIds()).slice(0, 3), ids);
});

test('prune deletes archived events, and the journal begins after them', async () => {
  const ids = await write(4);
  const { items } = await page();
  await archive({ beforeSeconds: 0, maxEvents: 3 });
  assert.deepEqual(await prune({ beforeSeconds: 0, maxEvents: 2 }), {
    pruned: 2,
    archiveFloorCursor: items[1].cursor,
  });
  assert.deepEqual(await stored(), { hot: 3, archived: 1 });
  assert.deepEqual((await retentionEvents())[1], {
    type: 'event_journal.pruned',
    entity_id: tenantId,
    actor_id: operator.principalId,
    payload: { pruned: 2, throughCursor: items[1].cursor, minAgeSeconds: 0 },
  });
  assert.deepEqual((await readIds()).slice(0, 2), ids.slice(2));
  assert.deepEqual((await readIds(`cursor=${items[1].cursor}`)).slice(0, 2), ids.slice(2));
  const oldest = await page(`before=${items[3].cursor}`);
  assert.deepEqual([oldest.items.map(({ id }: { id: string }) => id), oldest.prevCursor], [[ids[2]], null]);
  for (const query of [
    `cursor=${items[0].cursor}`,
    `before=${items[0].cursor}`,
    `after=${items[0].sequence}`,
  ]) {
    const { status, body } = await reader.get(`/events?${query}`);
    assert.deepEqual(
      [status, body.error.code, body.error.details.floorCursor],
      [422, 'cursor_below_journal_floor', items[1].cursor],
      query,
    );
  }
});

test('without a body, both process events older than 30 days; if none are, they succeed without an event', async () => {
  const ids = await write(3);
  assert.deepEqual(await archive(), {
    archived: 0,
    journalFloorCursor: origin,
    archiveFloorCursor: origin,
    minAgeSeconds: thirtyDays,
  });
  assert.deepEqual(await prune({}), { pruned: 0, archiveFloorCursor: origin });
  assert.deepEqual(await retentionEvents(), []);
  await age(ids.slice(0, 2), thirtyDays + 60);
  assert.equal((await archive()).archived, 2);
  assert.deepEqual(await stored(), { hot: 2, archived: 2 });
  await age(ids.slice(0, 1), thirtyDays + 60);
  assert.equal((await prune()).pruned, 2);
});

test('the default age is CP_JOURNAL_RETENTION_MIN_AGE_SECONDS', async () => {
  const { url } = await baton.another({ CP_JOURNAL_RETENTION_MIN_AGE_SECONDS: '500' });
  const ids = await write(3);
  await age(ids.slice(0, 2), 501);
  const { token } = operator;
  const { body } = await sendRequest(`${url}/api/v1/operations/journal:archive`, 'POST', { token });
  assert.deepEqual([body.archived, body.minAgeSeconds], [2, 500]);
});

test('an event that is old enough stays while an older one is too young', async () => {
  const ids = await write(3);
  await age([ids[0] as string, ids[2] as string], 1000);
  assert.equal((await archive({ beforeSeconds: 500 })).archived, 1);
  assert.equal((await archive({ beforeSeconds: 500 })).archived, 0);
});

test('returns 409 for a tenant in which the context adapter has no cursor, also for an empty journal', async () => {
  await writeEvents(baton.pool, tenantId, [{}]);
  for (const verb of ['archive', 'prune']) {
    const { status, body } = await operator.post(`/operations/journal:${verb}`, { beforeSeconds: 0 });
    assert.deepEqual(
      [status, body.error.code, body.error.details],
      [409, 'retention_blocked_by_consumer', { consumer: 'context-adapter' }],
    );
  }
});

test('the body is validated before the 409', async () => {
  for (const body of [
    { maxEvents: 0 },
    { maxEvents: 100_001 },
    { maxEvents: 1.5 },
    { beforeSeconds: -1 },
    { beforeSeconds: '1' },
    { beforeSeconds: null },
    { olderThan: 1 },
    [],
  ])
    for (const verb of ['archive', 'prune']) {
      const { status, body: answer } = await operator.post(`/operations/journal:${verb}`, body);
      assert.deepEqual([status, answer.error.code], [400, 'invalid_request'], JSON.stringify(body));
    }
  await write(1);
  assert.equal((await archive({ maxEvents: 100_000, beforeSeconds: 0 })).archived, 1);
});

test('operations.read is not enough', async () => {
  const onlooker = await baton.actor({ permissions: ['operations.read', 'events.read'], tenantId });
  for (const verb of ['archive', 'prune'])
    assert.equal((await onlooker.post(`/operations/journal:${verb}`)).body.error.code, 'permission_denied');
});

test('no event is removed that the slowest consumer has not confirmed', async () => {
  const ids = await write(5);
  await baton.pool.run(sql`
    insert into event_consumers (tenant_id, consumer, position, sequence)
    select tenant_id, 'rules', position, sequence from events where id = ${ids[2]}`);
  assert.equal((await archive({ beforeSeconds: 0 })).archived, 3);
  await baton.pool.run(sql`
    update event_consumers c set position = e.position, sequence = e.sequence from archived_events e
    where c.tenant_id = ${tenantId} and e.id = ${ids[0]}`);
  assert.equal((await prune({ beforeSeconds: 0 })).pruned, 1);
});

test('no event is archived from the first undelivered event or dead letter onwards', async () => {
  const ids = await write(4);
  const wait = (id: string | undefined, deadAt: string | null) =>
    baton.pool.run(sql`
      insert into outbox_deliveries (lead, sink, tenant_id, event_sequences, oldest_position, attempts, available_at, dead_at)
      select sequence, 'test', tenant_id, array[sequence], position, 8, 'infinity', ${deadAt} from events where id = ${id}`);
  await wait(ids[3], null);
  await wait(ids[1], new Date().toISOString());
  assert.equal((await archive({ beforeSeconds: 0 })).archived, 1);
  await baton.pool.run(
    sql`update outbox_deliveries set dropped_at = now() where tenant_id = ${tenantId} and dead_at is not null`,
  );
  assert.equal((await archive({ beforeSeconds: 0 })).archived, 2);
  assert.deepEqual(await stored(), { hot: 3, archived: 3 });
});

test('another tenant keeps its history, even if events are archived and pruned in this one', async () => {
  const here = await write(3);
  const other = await makeTenant(baton.pool);
  const otherOperator = await baton.actor({ permissions: ['operations.manage'], tenantId: other });
  const there = await writeEvents(baton.pool, other, [{}, {}, {}]);
  await confirmJournal(baton.pool, other);
  await archive({ beforeSeconds: 0 });
  await otherOperator.post('/operations/journal:archive', { beforeSeconds: 0, maxEvents: 2 });
  assert.equal((await prune({ beforeSeconds: 0 })).pruned, 3);
  assert.deepEqual(await storedEvents(baton.pool, other), { hot: 2, archived: 2 });
  const left = await baton.pool.rows<{ id: string }>(sql`
    select id from archived_events where tenant_id = ${other} order by position, sequence`);
  assert.deepEqual(
    left.map(({ id }) => id),
    there.slice(0, 2),
  );
  assert.equal((await readIds()).filter((id: string) => here.includes(id)).length, 0);
});

test('the same key returns the same response and archives no more events', async () => {
  await write(2);
  const key = { 'idempotency-key': newId() };
  const first = await archive({ beforeSeconds: 0 }, key);
  await write(1);
  assert.deepEqual(await archive({ beforeSeconds: 0 }, key), first);
  assert.equal((await stored()).archived, 2);
});

test('the database refuses everything except archiving and pruning, even to the owner of the tables', async () => {
  await write(3);
  await archive({ beforeSeconds: 0, maxEvents: 2 });
  for (const text of [
    `update archived_events set type = 'task.forged'`,
    'delete from archived_events',
    'truncate archived_events',
    'delete from events',
    'insert into archived_events select * from archived_events where false union all select sequence + 1000000, gen_random_uuid(), tenant_id, position + 1, type, schema_version, entity_type, entity_id, workspace_id, actor_id, iam_actor_id, session_id, correlation_id, causation_id, request_id, trace_run_id, payload, occurred_at from events',
    `with forged as (select sequence, id, tenant_id, position, 'task.forged', schema_version, entity_type, entity_id, workspace_id, actor_id, iam_actor_id, session_id, correlation_id, causation_id, request_id, trace_run_id, payload, occurred_at from events) insert into archived_events select * from forged`,
  ])
    await assert.rejects(baton.pool.run({ text, values: [] }), /append-only/, text);
});

test('both tables of the journal have the same columns, in the same order', async () => {
  const columnsOf = (table: string) =>
    baton.pool.rows(sql`
      select attname, atttypid::bigint, attnotnull from pg_attribute
      where attrelid = ${table}::regclass and attnum > 0 and not attisdropped order by attnum`);
  assert.deepEqual(await columnsOf('archived_events'), await columnsOf('events'));
});
