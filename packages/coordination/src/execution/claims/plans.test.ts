import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';

const rounds = 60;
/** A server process writes down what it has read once a second, when it ends a statement. */
const statisticsAfterMs = 1100;

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

const claim = async () => claimTask(worker, (await makeTask(baton)).id);

async function entriesRead(): Promise<number> {
  await new Promise((passed) => setTimeout(passed, statisticsAfterMs));
  await claim();
  const row = await baton.pool.row<{ entries: number }>(
    sql`select sum(idx_tup_read) as entries from pg_stat_user_indexes where relname = 'claims'`,
  );
  return row?.entries ?? 0;
}

test('a claim that was planned on empty tables reads no more of the claims while they grow', async () => {
  await baton.pool.run(sql`vacuum (analyze)`);
  const before = await entriesRead();
  for (let round = 0; round < rounds; round += 1) await claim();
  const read = (await entriesRead()) - before;
  assert.ok(read < 5 * rounds, `${rounds} claims read ${read} entries of the indexes of claims`);
});
