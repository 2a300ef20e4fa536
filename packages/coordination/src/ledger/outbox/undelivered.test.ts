import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess, longTest } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());
beforeEach(() => baton.pool.run(sql`delete from outbox`));

interface Place {
  position: number;
  sequence: number;
}
const placeOf = (id: string | undefined) =>
  baton.pool.row<Place>(sql`select position, sequence from events where id = ${id}`);
const oldestOf = (tenantId = baton.tenantId) =>
  baton.pool.row<Place>(
    sql`select event_position as position, event_sequence as sequence from oldest_undelivered(${tenantId})`,
  );

test('a tenant whose events are all delivered has no oldest undelivered one', async () => {
  await writeEvents(baton.pool, baton.otherTenantId, [{}]);
  assert.equal(await oldestOf(), undefined);
});

test('the oldest undelivered event is the first in the order of the journal, which may be written later', async () => {
  const [other] = await writeEvents(baton.pool, baton.otherTenantId, [{}]);
  const [first] = await writeEvents(baton.pool, baton.tenantId, [{}, {}]);
  assert.deepEqual(await oldestOf(), await placeOf(first));
  assert.deepEqual(await oldestOf(baton.otherTenantId), await placeOf(other));
  const late = '00000000-0000-4000-8000-000000000001';
  await baton.pool.run(sql`
    with written as (
      insert into events (id, tenant_id, position, type, schema_version, entity_type, entity_id, payload)
      values (${late}, ${baton.tenantId}, 1, 'session.opened', 1, 'session', ${late}, '{}') returning sequence
    ) insert into outbox (event_sequence, tenant_id) select sequence, ${baton.tenantId} from written`);
  assert.deepEqual(await oldestOf(), await placeOf(late));
});

test('the oldest event of a tenant is found however many events of others are pending', async () => {
  await baton.pool.run(sql`
    insert into outbox (event_sequence, tenant_id) select -n, ${baton.otherTenantId} from generate_series(1, 10001) n`);
  const [first] = await writeEvents(baton.pool, baton.tenantId, [{}]);
  assert.deepEqual(await oldestOf(), await placeOf(first));
  assert.equal(await oldestOf(baton.otherTenantId), undefined);
});

const deliveries = 200_000;

longTest(`with ${deliveries} deliveries and as many events it is found by indexes alone`, async () => {
  const { pool, tenantId, otherTenantId } = baton;
  await pool.run(sql`
    with written as (
      insert into events (id, tenant_id, position, type, schema_version, entity_type, entity_id, payload)
      select gen_random_uuid(), ${tenantId}, 1000 + n, 'session.opened', 1, 'session', gen_random_uuid(), '{}'
      from generate_series(1, 15000) n returning sequence
    ) insert into outbox (event_sequence, tenant_id) select sequence, ${tenantId} from written`);
  // Most deliveries are retried, dead or dropped; the oldest undelivered one is the last.
  await pool.run(sql`
    insert into outbox_deliveries (lead, sink, tenant_id, event_sequences, oldest_position, is_new, dropped_at)
    select -n, 'ci', case when n % 2 = 0 then ${tenantId}::uuid else ${otherTenantId}::uuid end, array[-n],
      ${deliveries}::integer + 1 - n, n % 3 = 0, case when n % 10 = 1 then now() end
    from generate_series(1, ${deliveries}::integer) n`);
  for (const prepare of ['analyze', 'delete from outbox where event_sequence % 2 = 0'])
    await pool.run({ text: prepare, values: [] });
  const [body] = await pool.rows<{ text: string }>(
    sql`select prosrc as text from pg_proc where proname = 'oldest_undelivered'`,
  );
  const text = (body as { text: string }).text.replaceAll(/\btenant\b/g, `'${tenantId}'::uuid`);
  const [plan] = await pool.rows<{ 'QUERY PLAN': { Plan: object }[] }>({
    text: `explain (analyze, format json) ${text}`,
    values: [],
  });
  const told = JSON.stringify(plan);
  assert.doesNotMatch(told, /"Seq Scan"/);
  assert.match(told, /"outbox_deliveries_oldest"/);
  const rows = [...told.matchAll(/"Actual Rows":([\d.]+)/g)].map(([, count]) => Number(count));
  assert.ok(Math.max(...rows) < 1000, `a step reads ${Math.max(...rows)} rows: ${told}`);
  const startedAt = performance.now();
  for (let n = 0; n < 20; n += 1) await oldestOf();
  assertTookLess(startedAt, 2000, 'twenty readings');
  await pool.run(sql`delete from outbox_deliveries`);
});
