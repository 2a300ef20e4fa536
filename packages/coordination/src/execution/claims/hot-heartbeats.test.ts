import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { longTest } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, makeWorker, openSession, type Worker } from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { until } from '../../testing/wait-until.ts';
import { expireDueClaims, expireDueSessions } from '../sweeper/sweeper.ts';

const holdersMax = 100;
const beatsOfEach = 20;
/**
 * The number of concurrent heartbeats. It is small because any running transaction prevents the cleanup of dead rows,
 * and on a busy machine some run for a long time.
 */
const beatsAtATime = 8;
/** A transaction of another test, in any database of the server, can prevent the cleanup during several attempts. */
const triesMax = 10;
/**
 * The minimum share of HOT updates among a table's updates by heartbeats. Any other update writes an entry to every
 * index of the row.
 */
const hotMin = 0.95;

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

type Tally = Record<string, { updates: number; hot: number }>;

async function tally(): Promise<Tally> {
  const rows = await baton.pool.rows<{ name: string; updates: number; hot: number }>(sql`
    select relname as name, n_tup_upd as updates, n_tup_hot_upd as hot from pg_stat_user_tables
    where relname in ('claims', 'tasks', 'sessions')`);
  return Object.fromEntries(rows.map(({ name, ...counts }) => [name, counts]));
}

/**
 * Waits until the counters stop: a connection reports its statistics at most once a second, with its next statement.
 */
async function settledTally(): Promise<Tally> {
  let last = '';
  let since = performance.now();
  await until(async () => {
    await Promise.all(Array.from({ length: 12 }, () => worker.actor.get('/claims?limit=1')));
    const now = JSON.stringify(await tally());
    if (now !== last) [last, since] = [now, performance.now()];
    return performance.now() - since > 2500;
  }, 'the count');
  return tally();
}

longTest(
  '95 % of the heartbeats of claims and sessions are HOT updates, of their rows and of the tasks',
  async () => {
    const held: string[] = [];
    for (let n = 0; n < holdersMax; n += 1) {
      const sessionId = await openSession(worker.actor);
      const claim = await claimTask({ ...worker, sessionId }, (await makeTask(baton)).id);
      held.push(`/claims/${claim.id}:heartbeat`, `/sessions/${sessionId}:heartbeat`);
    }
    for (let tries = 1; ; tries += 1) {
      const low = await coldTables(held);
      if (low.length === 0) return;
      assert.ok(tries < triesMax, low.join(', '));
    }
  },
);

/** The tables with too few HOT updates by heartbeats. */
async function coldTables(held: readonly string[]): Promise<string[]> {
  const before = await settledTally();
  const beats = Array.from({ length: beatsOfEach }, () => held).flat();
  const beat = async () => {
    for (let path = beats.pop(); path; path = beats.pop())
      await done(worker.actor.post(path, { ttlSeconds: 400 }));
  };
  await Promise.all(Array.from({ length: beatsAtATime }, beat));
  const after = await settledTally();
  return ['claims', 'tasks', 'sessions'].flatMap((table) => {
    const [from, to] = [before[table], after[table]] as [Tally[string], Tally[string]];
    const updates = to.updates - from.updates;
    const share = (to.hot - from.hot) / updates;
    // A connection without a later statement has not reported the updates of its last second.
    assert.ok(updates >= (holdersMax * beatsOfEach) / 2, `${table}: ${updates} updates`);
    return share >= hotMin ? [] : [`${table}: ${(100 * share).toFixed(1)} % of ${updates}`];
  });
}

test('a sweeper postpones its check of a live lease to the end of the lease, and finds a lease that a heartbeat shortened', async () => {
  const { tools, close } = makeWorkerTools(baton);
  const jobs = [expireDueClaims(tools), expireDueSessions(tools)];
  const sessionId = await openSession(worker.actor);
  const claim = await claimTask({ ...worker, sessionId }, (await makeTask(baton)).id, { ttlSeconds: 600 });
  const state = () =>
    baton.pool.row<{ claim: boolean; session: boolean; ended: boolean }>(sql`
      select c.sweep_at = c.expires_at as claim, s.sweep_at = s.expires_at as session, c.status <> 'active' as ended
      from claims c join sessions s on s.id = c.session_id where c.id = ${claim.id}`);
  await baton.pool.run(sql`update claims set sweep_at = now() - interval '1 second' where id = ${claim.id}`);
  await baton.pool.run(
    sql`update sessions set sweep_at = now() - interval '1 second' where id = ${sessionId}`,
  );
  for (const job of jobs) assert.equal(await job.run(), 0);
  assert.deepEqual(await state(), { claim: true, session: true, ended: false });
  await done(worker.actor.post(`/claims/${claim.id}:heartbeat`, { ttlSeconds: 3600 }));
  assert.equal((await state())?.claim, false);
  await done(worker.actor.post(`/claims/${claim.id}:heartbeat`, { ttlSeconds: 10 }));
  await done(worker.actor.post(`/sessions/${sessionId}:heartbeat`, { ttlSeconds: 10 }));
  assert.deepEqual(await state(), { claim: true, session: true, ended: false });
  await close();
});
