import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';

const rounds = 60;
/** A server process reports its read statistics at most once a second, at the end of a statement. */
const statisticsAfterMs = 1100;

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

const claim = async () => claimTask(worker, (await makeTask(baton)).id);

/** @param act a call that makes the server process report its read statistics */
async function entriesRead(act: () => Promise<unknown> = claim): Promise<number> {
  await new Promise((passed) => setTimeout(passed, statisticsAfterMs));
  await act();
  const row = await baton.pool.row<{ entries: number }>(
    sql`select sum(idx_tup_read) as entries from pg_stat_user_indexes where relname = 'claims'`,
  );
  return row?.entries ?? 0;
}

test("a search for work that was planned on empty tables doesn't read the live claims", async () => {
  const live = 400;
  await baton.pool.run(sql`vacuum (analyze)`);
  const search = () => done(worker.actor.get('/work/available'));
  await Promise.all(Array.from({ length: rounds }, search));
  for (let made = 0; made < live; made += 100) {
    await Promise.all(Array.from({ length: 100 }, () => makeTask(baton)));
    await done(worker.actor.post('/work:claim-next', { sessionId: worker.sessionId, count: 100 }));
  }
  const before = await entriesRead(search);
  for (let round = 0; round < rounds; round += 1) await search();
  const read = (await entriesRead(search)) - before;
  assert.ok(
    read < live,
    `${rounds} searches with ${live} live claims read ${read} entries of the indexes of claims`,
  );
});

test("a claim that was planned on empty tables doesn't read more claims as they grow", async () => {
  await baton.pool.run(sql`vacuum (analyze)`);
  const before = await entriesRead();
  for (let round = 0; round < rounds; round += 1) await claim();
  const read = (await entriesRead()) - before;
  assert.ok(read < 5 * rounds, `${rounds} claims read ${read} entries of the indexes of claims`);
});
