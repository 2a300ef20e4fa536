import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makeTenant } from '../../testing/objects.ts';

/** The state after any restore: the newest events are missing, and their numbers are used again. */

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

let tenantId: string;
beforeEach(async () => {
  tenantId = await makeTenant(identity);
});

async function write(count: number): Promise<number[]> {
  const rows = await identity.pool.rows<{ sequence: number }>(sql`
    insert into events (id, tenant_id, type, aggregate_type, aggregate_id, payload)
    select gen_random_uuid(), ${tenantId}, 'test', 'test', ${randomUUID()}, '{}' from generate_series(1, ${count}::integer)
    returning sequence`);
  return rows.map(({ sequence }) => sequence);
}

const read = (after: number) => identity.get(`/events?after=${after}&limit=500`);
const sequences = async (after: number) =>
  (await read(after)).body.items.map(({ sequence }: { sequence: number }) => sequence);

/** Removes the events after a number, as if an earlier state had been restored and the server restarted. */
async function loseAfter(kept: number): Promise<void> {
  await identity.pool.transaction(async (tx) => {
    await tx.run(sql`alter table events disable trigger events_append_only`);
    await tx.run(sql`delete from events where sequence > ${kept}`);
    await tx.run(sql`alter table events enable trigger events_append_only`);
    await tx.run(sql`select setval('events_sequence_seq', ${kept})`);
    await tx.run(sql`
      update journal_epoch set server_started_at = pg_postmaster_start_time() - interval '1 hour'`);
  });
}

test('after a restore a poller that had read what is lost gets 410 with where to go on, and skips nothing', async () => {
  const kept = (await write(3)).at(-1) as number;
  const lost = (await write(4)).at(-1) as number;
  await loseAfter(kept);
  const written = await write(6);
  const { status, body, headers } = await read(lost);
  assert.deepEqual([status, body], [410, { detail: 'journal_rewound' }]);
  assert.equal(headers.get('journal-read-to'), String(kept));
  assert.deepEqual(await sequences(kept), written, 'nobody skips an event');
  assert.ok(written.every((sequence) => Number.isSafeInteger(sequence) && sequence > lost));
});

test('a copy from before a restart that is put back seconds after it gives none of its numbers again', async () => {
  await identity.pool.run(sql`update journal_epoch set server_started_at = null`);
  const kept = (await write(2)).at(-1) as number;
  await identity.pool.run(sql`update journal_epoch set server_started_at = null`);
  const lost = (await write(4)).at(-1) as number;
  await loseAfter(kept);
  await identity.pool.run(sql`delete from journal_epochs where first_sequence > ${kept}`);
  const written = await write(6);
  assert.equal((await read(lost)).status, 410);
  assert.deepEqual(await sequences(kept), written);
});

test('a reading notices the restore before anything is written', async () => {
  const kept = (await write(1)).at(-1) as number;
  const lost = (await write(1)).at(-1) as number;
  await loseAfter(kept);
  assert.equal((await read(lost)).status, 410);
  const after = Number((await read(kept)).headers.get('journal-read-to'));
  assert.equal(after, kept);
  const written = await write(1);
  assert.deepEqual(await sequences(after), written);
});

test('after above the head is 410, the head itself is not', async () => {
  const head = (await write(1)).at(-1) as number;
  assert.equal((await read(head)).status, 200);
  const { status, headers } = await read(head + 1);
  assert.equal(status, 410);
  assert.equal((await read(Number(headers.get('journal-read-to')))).status, 200);
});

test('a restart alone refuses no poller, not even one that got its number with an empty page', async () => {
  await write(2);
  const undone = new Error('undone');
  await identity.pool
    .transaction(async (tx) => {
      await tx.run(sql`
        insert into events (id, tenant_id, type, aggregate_type, aggregate_id, payload)
        values (${randomUUID()}, ${tenantId}, 'test', 'test', ${randomUUID()}, '{}')`);
      throw undone;
    })
    .catch((error: unknown) => assert.equal(error, undone));
  const told = Number((await read(0)).headers.get('journal-read-to'));
  await identity.pool.run(sql`
    update journal_epoch set server_started_at = pg_postmaster_start_time() - interval '1 hour'`);
  const written = await write(2);
  assert.deepEqual(await sequences(told), written);
});

test('many writers at once begin the epoch once', async () => {
  const count = async () =>
    (await identity.pool.row<{ count: number }>(sql`select count(*) from journal_epochs`))?.count as number;
  await write(1);
  const before = await count();
  await identity.pool.run(sql`update journal_epoch set table_number = 1`);
  const written = (await Promise.all(Array.from({ length: 8 }, () => write(2)))).flat();
  assert.equal(await count(), before + 1);
  assert.equal(new Set(written).size, 16);
  const last = await identity.pool.row<{ reason: string }>(
    sql`select reason from journal_epochs order by first_sequence desc limit 1`,
  );
  assert.equal(last?.reason, 'restored');
});
