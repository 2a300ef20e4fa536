import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { newId } from '@baton/values/ids';
import { startWorker } from '../../app/worker.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { type Deliver, emptyOutbox, testSink } from '../../testing/ledger/sinks.ts';
import { until } from '../../testing/wait-until.ts';
import { SinkAway } from '../sinks/sink.ts';

let baton: TestCoordination;
let operator: Actor;
const log = createLog({ name: 'worker', level: 'silent' });
before(async () => {
  baton = await startCoordination({
    CP_OUTBOX_MAX_ATTEMPTS: '1',
    CP_OUTBOX_BATCH_SIZE: '3',
    CP_OUTBOX_BACKOFF_BASE_SECONDS: '1',
    CP_OUTBOX_BACKOFF_MAX_SECONDS: '1',
  });
  operator = await baton.actor({ permissions: ['operations.manage', 'events.read'] });
});
after(() => baton.close());
beforeEach(() => emptyOutbox(baton.pool));

const list = async (query = '') => done(operator.get(`/operations/outbox?limit=200${query}`));
const write = (count: number) =>
  writeEvents(
    baton.pool,
    baton.tenantId,
    Array.from({ length: count }, () => ({})),
  );

/** Runs a worker until the condition is true. */
async function work(deliver: Deliver, holds: () => Promise<boolean>, env: object = {}): Promise<void> {
  const worker = await startWorker({ env: { ...baton.env, ...env }, log, sinks: [testSink(deliver)] });
  await until(holds).finally(() => worker.close());
}
const isHandedOver = async () => (await baton.pool.row(sql`select 1 from outbox limit 1`)) === undefined;
const away: Deliver = async () => {
  throw new SinkAway('not there');
};
const refuse: Deliver = async () => {
  throw new Error('answered 500');
};

/** Pending events in deliveries of three. */
async function pending(count: number): Promise<string[]> {
  const ids = await write(count);
  await work(away, isHandedOver);
  return ids;
}
async function dead(count: number): Promise<string[]> {
  const ids = await write(count);
  await work(refuse, async () => (await list('&status=dead')).items.length === count);
  return ids;
}
const eventsAbout = async (id: string) => {
  await journalIsStable(baton.pool);
  return (await done(operator.get(`/events?entityId=${id}`))).items;
};

test('undelivered events and dead letters are listed, newest first, in pages, with the required permission', async () => {
  const [deadId] = await dead(1);
  const ids = await pending(7);
  const all = await list();
  assert.deepEqual(
    all.items.map(({ eventId }: { eventId: string }) => eventId),
    [...ids.toReversed(), deadId],
  );
  const [last] = all.items.slice(-1);
  assert.deepEqual(last, {
    id: last.id,
    eventId: deadId,
    type: 'session.opened',
    sink: 'test',
    attempts: 1,
    lastError: 'answered 500',
    nextAttemptAt: null,
  });
  const [first] = all.items;
  assert.ok(Date.parse(first.nextAttemptAt) > 0 && first.attempts === 0);
  assert.deepEqual((await list('&status=dead')).items, [last]);
  assert.deepEqual((await list('&status=pending')).items, all.items.slice(0, 7));
  const paged = [];
  for (let cursor = ''; ; ) {
    const page = await done(operator.get(`/operations/outbox?limit=2${cursor}`));
    paged.push(...page.items);
    if (page.nextCursor === null) break;
    cursor = `&cursor=${page.nextCursor}`;
  }
  assert.deepEqual(paged, all.items);
  const reader = await baton.actor({ permissions: ['operations.read'] });
  assert.equal((await reader.get('/operations/outbox')).status, 200);
  await refused(reader.post(`/operations/outbox/${last.id}:redrive`), 403, 'permission_denied');
  const nobody = await baton.actor({ permissions: ['events.read'] });
  await refused(nobody.get('/operations/outbox'), 403, 'permission_denied');
  await refused(operator.get('/operations/outbox?status=other'), 400, 'invalid_request');
  await refused(operator.get('/operations/outbox?cursor=x'), 422, 'invalid_cursor');
});

test('a redrive delivers a dead letter, is a no-op when repeated, and writes an event', async () => {
  const [eventId] = await dead(1);
  const [{ id }] = (await list()).items;
  const redriven = await done(operator.post(`/operations/outbox/${id}:redrive`, { reason: 'mended' }));
  assert.deepEqual([redriven.id, redriven.eventId, redriven.attempts], [id, eventId, 0]);
  assert.ok(redriven.nextAttemptAt !== null);
  assert.deepEqual(await done(operator.post(`/operations/outbox/${id}:redrive`)), redriven);
  const [event, ...others] = await eventsAbout(id);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [event.type, event.entityType, event.payload],
    ['outbox.redriven', 'outbox_delivery', { eventId, sink: 'test', reason: 'mended' }],
  );
  const delivered: string[] = [];
  await work(
    async (one) => void delivered.push(one.id),
    async () => delivered.includes(eventId as string),
  );
  await refused(operator.post(`/operations/outbox/${id}:redrive`), 404, 'not_found');
});

test('a drop discards a dead letter or one of several pending events, unblocks retention, and may be repeated', async () => {
  const ids = [...(await dead(1)), ...(await pending(3))];
  const oldest = () =>
    baton.pool.row<{ id: string }>(sql`
      select e.id from oldest_undelivered(${baton.tenantId}) o join events e on e.sequence = o.event_sequence`);
  for (const eventId of ids.slice(0, 3)) {
    assert.equal((await oldest())?.id, eventId);
    const { id } = (await list()).items.find((item: { eventId: string }) => item.eventId === eventId);
    const path = `/operations/outbox/${id}:drop`;
    await refused(operator.post(path), 400, 'invalid_request');
    await refused(operator.post(path, { reason: '' }), 400, 'invalid_request');
    await refused(operator.post(path, { reason: 'x'.repeat(501) }), 400, 'invalid_request');
    const dropped = await done(operator.post(path, { reason: 'no use' }));
    assert.deepEqual([dropped.eventId, dropped.nextAttemptAt], [eventId, null]);
    assert.deepEqual(await done(operator.post(path, { reason: 'again' })), dropped);
    const [event, ...others] = await eventsAbout(id);
    assert.deepEqual(
      [others, event.type, event.payload],
      [[], 'outbox.dropped', { eventId, sink: 'test', reason: 'no use' }],
    );
    await refused(operator.post(`/operations/outbox/${id}:redrive`), 404, 'not_found');
    // Removes the pending event about the drop itself, so that only the three events are checked.
    await baton.pool.run(sql`delete from outbox`);
  }
  assert.equal((await oldest())?.id, ids[3]);
  const delivered: string[] = [];
  await work(
    async ({ id }) => void delivered.push(id),
    async () => delivered.length > 0 && (await list()).items.length === 0,
  );
  assert.deepEqual(delivered, [ids[3]]);
});

test('only dropped deliveries are deleted after their retention period', async () => {
  await dead(2);
  const [first, second] = (await list()).items;
  const drop = () => operator.post(`/operations/outbox/${first.id}:drop`, { reason: 'no use' });
  await done(drop());
  await work(away, isHandedOver);
  await done(drop());
  await work(away, async () => (await drop()).status === 404, { CP_OUTBOX_DROPPED_AGE_SECONDS: '1' });
  assert.deepEqual((await list('&status=dead')).items, [second]);
});

test('an id without a delivery, or of another tenant, returns 404', async () => {
  await dead(1);
  const [{ id }] = (await list()).items;
  for (const verb of ['redrive', 'drop']) {
    const post = (actor: Actor, of: string) =>
      actor.post(`/operations/outbox/${of}:${verb}`, { reason: 'x' });
    await refused(post(operator, newId()), 404, 'not_found');
    await refused(post(operator, 'ffffffff-ffff-8000-8fff-ffffffffffff'), 404, 'not_found');
    await refused(post(baton.otherAdmin, id), 404, 'not_found');
    await refused(post(operator, 'none'), 400, 'invalid_request');
  }
  assert.deepEqual((await done(baton.otherAdmin.get('/operations/outbox'))).items, []);
});
