import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/journal-writer.ts';

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

test('however many events of others wait, the oldest of a tenant is found', async () => {
  await baton.pool.run(sql`
    insert into outbox (event_sequence, tenant_id) select -n, ${baton.otherTenantId} from generate_series(1, 10001) n`);
  const [first] = await writeEvents(baton.pool, baton.tenantId, [{}]);
  assert.deepEqual(await oldestOf(), await placeOf(first));
  assert.equal(await oldestOf(baton.otherTenantId), undefined);
});
