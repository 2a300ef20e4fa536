import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { encodeCursor, type JournalPosition, parseCursor } from './cursor.ts';

/**
 * The state after a snapshot or dump has been restored, or a lagging standby has been promoted: the newest events are
 * lost, and the numbers in their positions are assigned again. `other-history.real.test.ts` tests this with real
 * servers.
 */

let baton: TestCoordination;
let reader: Actor;
before(async () => {
  baton = await startCoordination({ CP_WS_POLL_INTERVAL_SECONDS: '1' });
  reader = await baton.actor({ permissions: ['events.read'] });
});
after(() => baton.close());

const read = (cursor: string, query = '') => reader.get(`/events?limit=200&cursor=${cursor}${query}`);
const write = (count: number) =>
  writeEvents(
    baton.pool,
    baton.tenantId,
    Array.from({ length: count }, () => ({})),
  );

async function tail(): Promise<string> {
  await journalIsStable(baton.pool);
  return (await reader.get('/events?tail=1')).body.nextCursor;
}

/** Undoes the newest events. The epoch then records a later start of the server, and new positions begin lower. */
async function loseNewest(count: number): Promise<void> {
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`alter table events disable trigger events_append_only`);
    await tx.run(sql`
      delete from outbox where event_sequence in (select sequence from events order by sequence desc limit ${count})`);
    await tx.run(sql`
      delete from events where sequence in (select sequence from events order by sequence desc limit ${count})`);
    await tx.run(sql`alter table events enable trigger events_append_only`);
    await tx.run(sql`select setval('events_sequence_seq', (select max(sequence) from events))`);
    await tx.run(sql`
      update journal_epoch set position_offset = position_offset - 1000,
        server_started_at = pg_postmaster_start_time() - interval '1 hour'`);
  });
}

test('a cursor from a lost history returns 410, and reading from resumeCursor skips no event', async () => {
  await write(3);
  const kept = await tail();
  await write(4);
  const lost = await tail();
  await loseNewest(4);
  const written = await write(5);
  await journalIsStable(baton.pool);
  const { status, body } = await read(lost);
  assert.equal(status, 410, JSON.stringify(body));
  assert.equal(body.error.code, 'cursor_from_other_history');
  const ids = async (cursor: string) => (await read(cursor)).body.items.map(({ id }: { id: string }) => id);
  assert.deepEqual(await ids(body.error.details.resumeCursor), written);
  assert.deepEqual(await ids(kept), written, 'a reader without the lost events continues as usual');
});

test("every cursor that this history can't have issued returns 410, with and without filters, forward and backward", async () => {
  await write(2);
  const here = parseCursor(await tail()) as JournalPosition;
  const ahead = encodeCursor({ position: here.position + 2 ** 40, sequence: 7 });
  const aheadHorizon = encodeCursor({ position: here.position + 2 ** 40, sequence: 0 });
  const never = encodeCursor({ position: here.position, sequence: here.sequence + 1000 });
  for (const query of [
    `cursor=${ahead}`,
    `cursor=${aheadHorizon}`,
    `cursor=${never}`,
    `before=${ahead}`,
    `cursor=${ahead}&types=task.`,
    `cursor=${ahead}&entityType=task&entityId=${baton.tenantId}`,
  ]) {
    const { status, body } = await reader.get(`/events?${query}`);
    assert.deepEqual([status, body.error?.code], [410, 'cursor_from_other_history'], query);
    assert.equal((await read(body.error.details.resumeCursor)).status, 200, query);
  }
});

test("a position between two epochs belongs to another history, the last position of the earlier one doesn't", async () => {
  await write(1);
  await tail();
  await baton.pool.run(sql`update journal_epoch set server_started_at = null`);
  await write(1);
  const epoch = (await baton.pool.row<{ first: number; end: number }>(
    sql`select first_position as first, previous_end as end from journal_epochs order by 1 desc limit 1`,
  )) as { first: number; end: number };
  await journalIsStable(baton.pool);
  const statusAt = async (position: number) => (await read(encodeCursor({ position, sequence: 0 }))).status;
  assert.deepEqual(
    [await statusAt(epoch.end), await statusAt(epoch.end + 1), await statusAt(epoch.first)],
    [200, 410, 200],
  );
});

test('a legacy number is a lower bound and never belongs to another history', async () => {
  assert.equal((await reader.get('/events?after=999999999')).status, 200);
  assert.equal((await read('999999999')).status, 200);
});

test('a stream is closed with 4400 and the code, whether it starts there or was already open', async () => {
  await write(2);
  const kept = await tail();
  const open = openStream(baton.url, { token: reader.token, query: `?after=${kept}` });
  await write(3);
  await open.received(3, 60_000);
  const lost = await tail();
  await loseNewest(3);
  await write(1);
  assert.deepEqual(await open.ended, { code: 4400, reason: 'cursor_from_other_history' });
  const late = openStream(baton.url, { token: reader.token, query: `?after=${lost}` });
  assert.deepEqual(await late.ended, { code: 4400, reason: 'cursor_from_other_history' });
});

test('the operator sees the new epoch and the refused cursors', async () => {
  await baton.pool.run(sql`
    update journal_epoch set server_started_at = null, cluster = 'another/00000001'`);
  await write(1);
  const { position } = parseCursor(await tail()) as JournalPosition;
  assert.equal((await read(encodeCursor({ position: position + 2 ** 40, sequence: 1 }))).status, 410);
  const ready = (await baton.request('GET', '/health/ready')).body;
  assert.equal(ready.status, 'ready');
  const { cursorsRefused, reason, beganAt } = ready.detail.journalEpoch;
  assert.ok(cursorsRefused > 0);
  assert.equal(reason, 'requested');
  assert.ok(Date.parse(beganAt) > Date.now() - 600_000);
  const metrics = (await baton.request('GET', '/metrics')).body as string;
  assert.match(metrics, /^journal_epochs [1-9]/m);
  assert.match(metrics, /^journal_cursors_refused_total [1-9]/m);
});
