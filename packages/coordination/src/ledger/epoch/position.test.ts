import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

async function write(db: Db): Promise<string> {
  const id = newId();
  await db.run(sql`
    insert into events (id, tenant_id, type, schema_version, entity_type, entity_id, payload)
    values (${id}, ${baton.tenantId}, 'session.opened', 1, 'session', ${id}, '{}')`);
  return id;
}

const isBelowHorizon = async (id: string) =>
  (
    await baton.pool.row<{ below: boolean }>(
      sql`select coalesce((select position < journal_horizon() from events where id = ${id}), false) as below`,
    )
  )?.below;

test('an event follows all events committed before it, even if its transaction is older', async () => {
  const written: string[] = [];
  let other = '';
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select pg_current_xact_id()`);
    written.push(await write(tx));
    other = await write(baton.pool);
    assert.equal(await isBelowHorizon(other), false, 'an older transaction can still write');
    written.push(await write(tx));
  });
  const order = await baton.pool.rows<{ id: string }>(sql`
    select id from events where id = any (${[...written, other]}::uuid[]) order by position, sequence`);
  assert.deepEqual(
    order.map(({ id }) => id),
    [written[0], other, written[1]],
  );
  // The cluster has a single horizon: transactions in other databases also hold it back for a moment.
  for (let waitedMs = 0; waitedMs < 60_000 && !(await isBelowHorizon(written[1] ?? '')); waitedMs += 50)
    await new Promise((done) => setTimeout(done, 50));
  for (const id of [...written, other]) assert.equal(await isBelowHorizon(id), true);
});
