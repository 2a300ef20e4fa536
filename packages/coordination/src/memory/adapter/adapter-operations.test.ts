import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { encodeCursor } from '../../ledger/journal/cursor.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import {
  consumerOf,
  namespaceOf,
  startDelivery,
  writeDeliverable,
} from '../../testing/memory/memory-delivery.ts';
import { startMemoryService, type TestMemory } from '../../testing/memory/memory-service.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
let memory: TestMemory;
let operator: Actor;
before(async () => {
  baton = await startCoordination();
  memory = await startMemoryService();
  operator = await baton.actor({ kind: 'service', permissions: ['operations.manage'] });
});
after(async () => {
  await memory.close();
  await baton.close();
});

const path = () => `/operations/context-adapter/${baton.tenantId}`;
/** The events of one type in the tenant's journal, as readers get them. */
async function eventsOfType(type: string) {
  await journalIsStable(baton.pool);
  const { body } = await baton.admin.get(`/events?types=${type}&limit=200`);
  return body.items as { entityType: string; entityId: string; payload: object }[];
}
const state = async (actor = operator) => (await actor.get('/operations/context-adapter')).body;

test('the state has all its fields before the first cycle, with nulls and zeros', async () => {
  const { status, body, headers } = await operator.get('/operations/context-adapter');
  assert.equal(status, 200);
  assert.equal(headers.get('retry-after'), null);
  const start = encodeCursor({ position: 0, sequence: 0 });
  assert.deepEqual(body, {
    consumer: 'context-adapter',
    tenantId: baton.tenantId,
    cursor: null,
    lagEvents: null,
    lagCapped: false,
    parked: false,
    parkedAt: null,
    parkedReason: null,
    parkedEventId: null,
    failureCount: 0,
    nextAttemptAt: null,
    updatedAt: null,
    deliveredTotal: 0,
    duplicatesTotal: 0,
    failuresTotal: 0,
    redrivesTotal: 0,
    lastDeliveryAt: null,
    journal: { journalFloorCursor: start, archiveFloorCursor: start },
  });
  for (const verb of ['redrive', 'rebuild'])
    assert.equal((await operator.post(`${path()}:${verb}`, {})).status, 404, verb);
});

test('the state may be read with operations.read, or with operations.manage', async () => {
  for (const permission of ['operations.read', 'operations.manage'] as const) {
    const actor = await baton.actor({ permissions: [permission] });
    assert.equal((await actor.get('/operations/context-adapter')).status, 200);
  }
  const reader = await baton.actor({ permissions: ['operations.read'] });
  assert.equal((await reader.post(`${path()}:redrive`)).status, 403);
});

test('a tenant on hold shows its event and reason, and Retry-After gives the delay until the next attempt', async () => {
  const [first, second] = await writeDeliverable(baton, baton.tenantId, 2);
  memory.behave({ refused: new Set([second as string]) }, namespaceOf(baton.tenantId));
  const delivery = startDelivery(baton, memory, { CP_CONTEXT_RETRY_BACKOFF_BASE_SECONDS: '40' });
  await delivery.turns();
  const { body, headers } = await operator.get('/operations/context-adapter');
  assert.equal(body.parked, true);
  assert.equal(body.parkedEventId, second);
  assert.match(body.parkedReason, /refuses this event: .*invalid_observation/);
  assert.deepEqual([body.failureCount, body.failuresTotal, body.redrivesTotal], [1, 1, 0]);
  assert.ok(body.deliveredTotal >= 1);
  assert.ok(body.lagEvents >= 1 && !body.lagCapped);
  const seconds = Number(headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 40, String(seconds));
  assert.ok(Date.parse(body.nextAttemptAt) > Date.now());
  const before = await baton.pool.row<{ cursor: string }>(sql`
    select position, sequence from events where tenant_id = ${baton.tenantId}
      and (position, sequence) < (select position, sequence from events where id = ${second})
    order by position desc, sequence desc limit 1`);
  assert.equal(body.cursor, encodeCursor(before as never));
  assert.ok(memory.keptIds(namespaceOf(baton.tenantId)).includes(first as string));
});

test('a redrive retries the blocking event at once, never moves the cursor, and may be repeated', async () => {
  const before = await state();
  const { status, body } = await operator.post(`${path()}:redrive`, { reason: 'mended' });
  assert.equal(status, 200);
  assert.deepEqual(
    [body.parked, body.parkedReason, body.parkedEventId, body.failureCount, body.nextAttemptAt],
    [false, null, null, 0, null],
  );
  assert.deepEqual([body.cursor, body.redrivesTotal], [before.cursor, 1]);
  const again = await operator.post(`${path()}:redrive`);
  assert.deepEqual([again.body.cursor, again.body.redrivesTotal], [before.cursor, 2]);

  const events = await eventsOfType('context_adapter.redriven');
  assert.deepEqual(
    events.map(({ entityType, entityId, payload }) => ({ entityType, entityId, payload })),
    [
      {
        entityType: 'event_consumer',
        entityId: baton.tenantId,
        payload: {
          consumer: 'context-adapter',
          wasParked: true,
          parkedReason: before.parkedReason,
          parkedEventId: before.parkedEventId,
          cursor: before.cursor,
          reason: 'mended',
        },
      },
      {
        entityType: 'event_consumer',
        entityId: baton.tenantId,
        payload: {
          consumer: 'context-adapter',
          wasParked: false,
          parkedReason: null,
          parkedEventId: null,
          cursor: before.cursor,
          reason: 'operator_redrive',
        },
      },
    ],
  );
  memory.behave({}, namespaceOf(baton.tenantId));
  await startDelivery(baton, memory).turns();
  const after = await state();
  assert.equal(after.lagEvents, 0);
  assert.ok(memory.keptIds(namespaceOf(baton.tenantId)).includes(before.parkedEventId));
});

test('a rebuild without a cursor starts at the beginning of the journal and delivers everything again', async () => {
  const before = await state();
  const { status, body } = await operator.post(`${path()}:rebuild`);
  assert.equal(status, 200);
  assert.equal(body.cursor, body.journal.archiveFloorCursor);
  const [event] = await eventsOfType('context_adapter.rebuilt');
  assert.deepEqual(event?.payload, {
    consumer: 'context-adapter',
    fromCursor: before.cursor,
    toCursor: body.cursor,
    reason: 'operator_rebuild',
  });
  const kept = memory.keptIds(namespaceOf(baton.tenantId)).length;
  const delivery = startDelivery(baton, memory);
  while ((await delivery.turns()).get(baton.tenantId)?.hasMore);
  const after = await state();
  assert.equal(memory.keptIds(namespaceOf(baton.tenantId)).length, kept);
  assert.equal(after.duplicatesTotal, before.duplicatesTotal + kept);
});

test('a rebuild to a cursor delivers later events, and takes the tenant off hold', async () => {
  const page = await baton.admin.get('/events?limit=200');
  const place = page.body.items.find(({ type }: { type: string }) => type === 'capability.created');
  await baton.pool.run(sql`
    update event_consumers set parked_at = now(), parked_reason = 'x', failure_count = 3, next_attempt_at = now() - interval '1 s'
    where tenant_id = ${baton.tenantId}`);
  const { status, body } = await operator.post(`${path()}:rebuild`, { cursor: place.cursor, reason: '' });
  assert.equal(status, 200);
  assert.deepEqual([body.cursor, body.parked, body.failureCount], [place.cursor, false, 0]);
  const seen = memory.arrived.length;
  await startDelivery(baton, memory).turns();
  const sent = memory.arrived.slice(seen).flatMap(({ ids }) => ids);
  assert.ok(sent.length > 0 && !sent.includes(place.id));
});

test('a rebuild to the current cursor is allowed; forward it is refused', async () => {
  await journalIsStable(baton.pool);
  const { cursor } = await state();
  const equal = await operator.post(`${path()}:rebuild`, { cursor });
  assert.deepEqual([equal.status, equal.body.cursor], [200, cursor]);
  const { position } = await consumerOf(baton, baton.tenantId);
  const requestedCursor = encodeCursor({ position: position + 1, sequence: 0 });
  const refused = await operator.post(`${path()}:rebuild`, { cursor: requestedCursor });
  assert.equal(refused.status, 422);
  assert.equal(refused.body.error.code, 'cursor_must_not_advance');
  assert.deepEqual(refused.body.error.details, { currentCursor: cursor, requestedCursor });
});

test('a rebuild refuses a malformed cursor, an old version, and a cursor below deleted history', async () => {
  const code = async (cursor: unknown) => {
    const { status, body } = await operator.post(`${path()}:rebuild`, { cursor });
    return [status, body.error.code];
  };
  assert.deepEqual(await code('nonsense!'), [422, 'invalid_cursor']);
  assert.deepEqual(await code('12'), [422, 'invalid_cursor']);
  assert.deepEqual(await code(`ec1_${Buffer.from('{"s":12}').toString('base64url')}`), [
    422,
    'invalid_cursor',
  ]);
  assert.deepEqual(await code('ec2_abc'), [422, 'unsupported_cursor_version']);
  assert.deepEqual(await code(12), [400, 'invalid_request']);

  const { position } = await consumerOf(baton, baton.tenantId);
  const floors = (value: number) =>
    baton.pool.run(
      sql`update journal_floors set floor_position = ${value}, floor_sequence = 0 where tenant_id = ${baton.tenantId}`,
    );
  await floors(position - 1);
  const requestedCursor = encodeCursor({ position: position - 2, sequence: 9 });
  const refused = await operator.post(`${path()}:rebuild`, { cursor: requestedCursor });
  assert.equal(refused.status, 422);
  assert.equal(refused.body.error.code, 'cursor_below_journal_floor');
  const floorCursor = encodeCursor({ position: position - 1, sequence: 0 });
  assert.deepEqual(refused.body.error.details, { floorCursor, requestedCursor });
  assert.equal((await operator.post(`${path()}:rebuild`)).body.cursor, floorCursor);
  await floors(0);
});

test('another tenant returns 404, and nothing changes', async () => {
  await startDelivery(baton, memory).turns();
  const before = await consumerOf(baton, baton.otherTenantId);
  for (const [verb, id] of [
    ['redrive', baton.otherTenantId],
    ['rebuild', baton.otherTenantId],
    ['redrive', newId()],
  ])
    assert.equal((await operator.post(`/operations/context-adapter/${id}:${verb}`, {})).status, 404);
  assert.deepEqual(await consumerOf(baton, baton.otherTenantId), before);
  assert.equal((await state(baton.otherAdmin)).tenantId, baton.otherTenantId);
});

test('reasons are limited in length', async () => {
  for (const [verb, reason, status] of [
    ['redrive', '', 400],
    ['redrive', 'x'.repeat(501), 400],
    ['redrive', 'x'.repeat(500), 200],
    ['redrive', null, 400],
    ['rebuild', 'x'.repeat(501), 400],
    ['rebuild', null, 400],
  ] as const)
    assert.equal((await operator.post(`${path()}:${verb}`, { reason })).status, status, `${verb} ${reason}`);
});

test('archived events are counted and delivered again after a rebuild: first the archive, then the journal', async () => {
  const tenantId = baton.tenantId;
  const early = await writeDeliverable(baton, tenantId, 3);
  const delivery = startDelivery(baton, memory);
  const deliver = async () => {
    while ((await delivery.turns()).get(tenantId)?.hasMore);
  };
  await deliver();
  // A worker would deliver it, but no worker runs in this test.
  await baton.pool.run(sql`delete from outbox where tenant_id = ${tenantId}`);
  const archived = await operator.post('/operations/journal:archive', { beforeSeconds: 0 });
  assert.ok(archived.body.archived > 3, JSON.stringify(archived.body));
  await until(async () => {
    const row = await baton.pool.row<{ n: number }>(
      sql`select count(*) as n from events where tenant_id = ${tenantId} and id = any (${early}::uuid[])`,
    );
    return row?.n === 0;
  }, 'the move to the archive');
  const late = await writeDeliverable(baton, tenantId, 2);
  await deliver();

  const { body } = await operator.post(`${path()}:rebuild`);
  assert.ok(body.lagEvents >= archived.body.archived + late.length, String(body.lagEvents));
  assert.equal(body.journal.journalFloorCursor, archived.body.journalFloorCursor);
  const seen = memory.arrived.length;
  await deliver();
  const again = memory.arrived.slice(seen).flatMap(({ ids }) => ids);
  assert.deepEqual(
    again.filter((id) => early.includes(id) || late.includes(id)),
    [...early, ...late],
  );

  await operator.post('/operations/journal:prune', { beforeSeconds: 0 });
  const after = await operator.post(`${path()}:rebuild`);
  assert.equal(after.body.cursor, after.body.journal.archiveFloorCursor);
  const seenBefore = memory.arrived.length;
  await deliver();
  const rest = memory.arrived.slice(seenBefore).flatMap(({ ids }) => ids);
  assert.ok(!rest.some((id) => early.includes(id)));
  assert.ok(late.every((id) => rest.includes(id)));
  assert.equal((await state()).parked, false);
});

test('the lag is counted up to 1000', async () => {
  await startDelivery(baton, memory).turns();
  const write = (count: number) =>
    writeEvents(
      baton.pool,
      baton.otherTenantId,
      Array.from({ length: count }, () => ({})),
    );
  await write(1000);
  await journalIsStable(baton.pool);
  const full = await state(baton.otherAdmin);
  assert.deepEqual([full.lagEvents, full.lagCapped], [1000, false]);
  await write(1);
  await journalIsStable(baton.pool);
  const capped = await state(baton.otherAdmin);
  assert.deepEqual([capped.lagEvents, capped.lagCapped], [1000, true]);
});
