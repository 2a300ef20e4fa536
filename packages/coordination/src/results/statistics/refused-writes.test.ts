import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { Refusal } from '@baton/kernel/http/refusal';
import { createLog } from '@baton/kernel/process/log';
import { newId } from '@baton/values/ids';
import type { Caller } from '../../service/caller.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, endClaimLease, makeRun, makeWorker, refused } from '../../testing/leases.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import { until } from '../../testing/wait-until.ts';
import { deleteOldRefusedWrites, RefusedWrites } from './refused-writes.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const stored = () =>
  baton.pool.rows<{ principal_id: string; workspace_id: string | null; count: number }>(
    sql`select principal_id, workspace_id, sum(count)::bigint as count from refused_writes group by 1, 2`,
  );
const countOf = async (principalId: string) =>
  (await stored()).find(({ principal_id: id }) => id === principalId)?.count ?? 0;
const checkpoint = { kind: 'progress', data: {} };

test('writes of a worker whose lease was lost are counted, by holder and by day, within sight', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const [slow, fast] = [await makeWorker(baton), await makeWorker(baton)];
  for (const { id: workspaceId } of [mine, other]) {
    const { task, run, claim } = await makeRun(baton, slow, { task: { workspaceId } });
    await endClaimLease(baton, task.id, -1);
    await done(fast.actor.post(`/tasks/${task.id}:claim`, { sessionId: fast.sessionId }));
    await refused(slow.actor.post(`/runs/${run.id}/checkpoints`, checkpoint), 409, 'stale_claim');
    const late = { claimId: claim.id, fencingToken: claim.fencingToken };
    await refused(slow.actor.post(`/tasks/${task.id}:start-run`, late), 409, 'stale_claim');
  }
  const path = '/statistics/leases';
  await until(async () => (await done(baton.admin.get(path))).refusedWrites === 4);
  const all = await done(baton.admin.get(path));
  assert.deepEqual([all.lost, all.days.at(-1).lost, all.days.at(-1).refusedWrites], [2, 2, 4]);
  assert.deepEqual(all.holders, [{ principalId: slow.actor.principalId, lost: 2, refusedWrites: 4 }]);
  const seen = await done(person.get(path));
  assert.deepEqual([seen.lost, seen.refusedWrites], [1, 2]);
  const ofOther = await done(baton.admin.get(`${path}?workspaceId=${other.id}`));
  assert.deepEqual([ofOther.lost, ofOther.refusedWrites], [1, 2]);
  assert.equal((await done(baton.otherAdmin.get(path))).refusedWrites, 0);
});

test('only writes of the former holder are counted, under its own name', async () => {
  const worker = await makeWorker(baton);
  const stranger = await makeWorker(baton);
  const { task, run, claim } = await makeRun(baton, worker);
  await done(worker.actor.post(`/runs/${run.id}:fail`, {}));
  await done(worker.actor.post(`/claims/${claim.id}:release`, {}));
  const start = (by = worker, more: object = {}) =>
    by.actor.post(`/tasks/${task.id}:start-run`, {
      claimId: claim.id,
      fencingToken: claim.fencingToken,
      ...more,
    });
  await refused(start(stranger), 409, 'stale_claim');
  await refused(start(worker, { claimId: newId() }), 409, 'stale_claim');
  await refused(worker.actor.post(`/runs/${run.id}/checkpoints`, checkpoint), 409, 'run_not_active');
  await refused(stranger.actor.post(`/runs/${run.id}/checkpoints`, checkpoint), 409, 'run_not_active');
  await refused(start(), 409, 'stale_claim');
  await until(async () => (await countOf(worker.actor.principalId)) === 2);
  assert.equal(await countOf(stranger.actor.principalId), 0);
});

test('a process that ends stores its last counts, and counts of several processes add up', async () => {
  const worker = await makeWorker(baton);
  const { run } = await makeRun(baton, worker);
  await done(worker.actor.post(`/runs/${run.id}:fail`, {}));
  for (let n = 1; n <= 2; n += 1) {
    const other = await baton.another();
    const response = await fetch(`${other.url}/api/v1/runs/${run.id}/checkpoints`, {
      method: 'POST',
      headers: { authorization: `Bearer ${worker.actor.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(checkpoint),
    });
    assert.equal(response.status, 409);
    await other.close();
    assert.equal(await countOf(worker.actor.principalId), n);
  }
});

test('a refusal waits for no row: it is counted while another transaction locks the counts', async () => {
  const worker = await makeWorker(baton);
  const { run } = await makeRun(baton, worker);
  await done(worker.actor.post(`/runs/${run.id}:fail`, {}));
  const write = () =>
    refused(worker.actor.post(`/runs/${run.id}/checkpoints`, checkpoint), 409, 'run_not_active');
  await write();
  await until(async () => (await countOf(worker.actor.principalId)) === 1);
  await baton.pool.transaction(async (tx) => {
    await tx.rows(sql`select count from refused_writes for update`);
    await write();
    await write();
  });
  await until(async () => (await countOf(worker.actor.principalId)) === 3);
});

test('at most 1,000 claims and runs wait in memory, 100 of one principal; what the database refuses is dropped', async () => {
  const batches: number[] = [];
  let isAway = false;
  const pool = {
    run: async ({ values }: { values: readonly unknown[] }) => {
      batches.push((values[0] as string[]).length);
      if (isAway) throw new Error('away');
      return 0;
    },
  };
  const log = createLog({ name: 'test', level: 'silent' });
  const writes = new RefusedWrites(pool as never, log);
  const callerOf = (principalId: string) => ({ tenantId: newId(), principalId }) as Caller;
  const count = (times: number, caller = () => callerOf(newId())) => {
    for (let n = 0; n < times; n += 1)
      writes.count(new Refusal('run_not_active', { runId: newId() }), caller());
  };
  const flood = callerOf(newId());
  count(150, () => flood);
  count(3400);
  assert.deepEqual(batches, [1000], 'one statement at a time');
  await until(async () => batches.length === 2);
  isAway = true;
  count(10);
  await writes.close();
  assert.deepEqual(batches, [1000, 1000, 10]);
  count(1);
  await writes.close();
  assert.equal(batches.length, 3);
});

test('counts are deleted after 400 days', async () => {
  await baton.pool.run(sql`
    insert into refused_writes (tenant_id, at, principal_id, count)
    select ${baton.tenantId}, now() - make_interval(days => age), gen_random_uuid(), 1
    from unnest('{399, 401, 500}'::integer[]) as age`);
  const before = await stored();
  await deleteOldRefusedWrites({ pool: baton.pool } as never).run();
  assert.equal((await stored()).length, before.length - 2);
});
