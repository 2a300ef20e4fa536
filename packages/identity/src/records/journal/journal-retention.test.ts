import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Statement } from '@baton/kernel/database/sql';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal, makeTenant } from '../../testing/objects.ts';
import { until } from '../../testing/waiting.ts';

const keeping = { IAM_JOURNAL_RETENTION_DAYS: '30' };

let identity: TestIdentity;
let tenantId: string;
beforeEach(async () => {
  identity = await startIdentity();
  tenantId = await makeTenant(identity);
});
afterEach(() => identity.close());

/** Bypasses every trigger, as only the owner of the database can. */
async function tamper(statement: Statement<unknown>): Promise<void> {
  await identity.pool.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(statement);
  });
}

/** Moves every existing event into the past. */
const age = (days: number) =>
  tamper(sql`update events set occurred_at = occurred_at - ${days} * interval '1 day'`);

async function addEvents(events: number): Promise<void> {
  await identity.pool.run(sql`
    insert into events (id, tenant_id, type, aggregate_type, aggregate_id, payload)
    select gen_random_uuid(), ${tenantId}, 'x', 'x', ${tenantId}, '{}' from generate_series(1, ${events}::integer)`);
}

async function sequences(): Promise<number[]> {
  const rows = await identity.pool.rows<{ sequence: number }>(
    sql`select sequence from events order by sequence`,
  );
  return rows.map(({ sequence }) => sequence);
}

/** Waits until no old events remain. */
async function untilRemoved(left: number): Promise<void> {
  await until(async () => (await sequences()).length <= left, 'old events are removed');
}

test('events older than the setting are removed, and a reader below the last removed one is answered 410', async () => {
  await addEvents(2500);
  await age(31);
  const last = (await sequences()).at(-1) as number;
  await makePrincipal(identity, tenantId);
  const keeper = await identity.another(keeping);
  await untilRemoved(1);
  const floor = String(last);

  for (const query of ['', '?after=0', `?after=${last - 1}`, '?wait=1', `?tenantId=${tenantId}`]) {
    const { status, body, headers } = await identity.get(`/events${query}`);
    assert.deepEqual([status, body], [410, { detail: 'journal_truncated' }], query);
    assert.equal(headers.get('journal-floor'), floor);
  }
  const { items, next_after } = await made(identity.get(`/events?after=${floor}`));
  assert.deepEqual([items.length, items[0].type, next_after], [1, 'principal.created', null]);
  assert.equal((await identity.get(`/events?after=${last + 1}`)).status, 200);
  assert.ok(keeper.logged.some((line) => line.includes('old events were removed')));
});

test('events after a younger one are kept; without the setting nothing is removed', async () => {
  await age(31);
  await makePrincipal(identity, tenantId);
  const young = (await sequences()).at(-1) as number;
  await addEvents(3);
  await tamper(sql`update events set occurred_at = now() - interval '40 days' where sequence > ${young}`);
  await identity.another();
  await sleep(200);
  assert.equal((await sequences()).length, 5);
  await identity.another(keeping);
  await untilRemoved(4);
  await sleep(200);
  assert.deepEqual((await sequences())[0], young);
  assert.equal((await made(identity.get(`/events?after=${young - 1}`))).items.length, 4);
});

test('two processes remove while others write and read: no reader misses an event without an error', async () => {
  await addEvents(4000);
  await age(31);
  const last = (await sequences()).at(-1) as number;
  let removing = true;
  const read = async () => {
    while (removing) await readWithoutGap();
  };
  await Promise.all([
    ...[read(), read(), identity.another(keeping), identity.another(keeping)],
    ...Array.from({ length: 20 }, () => makePrincipal(identity, tenantId)),
    untilRemoved(20).finally(() => {
      removing = false;
    }),
  ]);
  assert.deepEqual([(await sequences())[0], (await sequences()).length], [last + 1, 20]);
  assert.equal((await identity.get(`/events?after=${last - 1}`)).headers.get('journal-floor'), String(last));
});

/** Follows the journal from its start to its end, or until a read is refused because events were removed. */
async function readWithoutGap(): Promise<void> {
  for (let seen = 0; ; ) {
    const { status, body } = await identity.get(`/events?after=${seen}&limit=200`);
    if (status === 410 || body.items.length === 0) return;
    for (const { sequence } of body.items) {
      assert.equal(sequence, seen + 1);
      seen = sequence;
    }
  }
}

test('no other statement can remove an event, whatever it sets', async () => {
  await age(31);
  await makePrincipal(identity, tenantId);
  const [old, young] = (await sequences()) as [number, number];
  const keptSince = sql`select set_config('baton.journal_kept_since', (now() - interval '30 days')::text, true)`;
  const anything = sql`select set_config('baton.journal_kept_since', 'infinity', true)`;
  const floor = (sequence: number) => sql`update journal_floor set floor = ${sequence}`;
  const remove = (sequence: number) => sql`delete from events where sequence = ${sequence}`;
  const refused: Record<string, Statement<unknown>[]> = {
    'without a permission': [floor(old), remove(old)],
    'without moving the floor': [keptSince, remove(old)],
    'one that is younger than permitted': [keptSince, floor(young), remove(young)],
    'one of today, whatever is permitted': [anything, floor(young), remove(young)],
    'a change of an old one': [
      anything,
      floor(young),
      sql`update events set type = 'x' where sequence = ${old}`,
    ],
    'all at once': [anything, floor(young), sql`truncate events`],
  };
  for (const [name, statements] of Object.entries(refused)) {
    const trying = identity.pool.transaction(async (tx) => {
      for (const statement of statements) await tx.run(statement);
    });
    await assert.rejects(trying, /append-only/, name);
  }
  // The permission ends with the transaction that gave it, even on the same connection.
  await identity.pool.transaction(async (tx) => {
    for (const statement of [keptSince, floor(old), remove(old)]) await tx.run(statement);
  });
  assert.deepEqual(await sequences(), [young]);
  await age(31);
  for (let attempt = 0; attempt < 5; attempt += 1)
    await assert.rejects(identity.pool.run(remove(young)), /append-only/);
});
