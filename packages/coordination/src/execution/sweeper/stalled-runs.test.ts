import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import type { Job } from '../../service/job.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { done, eventsOf, makeRun, makeWorker, type Worker } from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { recordStalledRuns } from './sweeper.ts';

let baton: TestCoordination;
let worker: Worker;
let sweepers: { job: Job; close(): Promise<void> }[];
let typeId: string;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  sweepers = [0, 1].map(() => {
    const { tools, close } = makeWorkerTools(baton);
    return { job: recordStalledRuns(tools), close };
  });
  typeId = await insertTestType(baton, { key: 'watched', execution: { progressTimeoutSeconds: 60 } });
});
after(async () => {
  for (const { close } of sweepers) await close();
  await baton.close();
});

const sweep = () => (sweepers[0] as (typeof sweepers)[number]).job.run();
/** Simulates a run that has been silent for this long. */
const beSilent = (runId: string, seconds: number) =>
  baton.pool.run(sql`
    update runs set last_progress_at = last_progress_at - make_interval(secs => ${seconds}),
      stalls_at = stalls_at - make_interval(secs => ${seconds}) where id = ${runId}`);
const stallsOf = async (runId: string) =>
  (await eventsOf(baton, runId)).filter(({ type }) => type === 'run.stalled');
async function stalledIds(query = ''): Promise<string[]> {
  const { items } = await done(worker.actor.get(`/runs?stalled=true${query}`));
  return items.map(({ id }: { id: string }) => id);
}

test('a run without progress for longer than its type allows gets one event per stall', async () => {
  const { task, run } = await makeRun(baton, worker, { task: { typeId } });
  await beSilent(run.id, 59);
  assert.equal(await sweep(), 0);
  await beSilent(run.id, 2);
  assert.deepEqual(await Promise.all(sweepers.map(({ job }) => job.run())).then((n) => n.sort()), [0, 1]);
  assert.equal(await sweep(), 0);
  const [event, ...more] = await stallsOf(run.id);
  const { lastProgressAt, status, version } = await done(worker.actor.get(`/runs/${run.id}`));
  assert.deepEqual([more, event?.actor_id, event?.session_id], [[], null, worker.sessionId]);
  assert.deepEqual(event?.payload, { taskId: task.id, attempt: 1, lastProgressAt });
  // The run keeps its status and version.
  assert.deepEqual([status, version], ['running', 1]);
  const writes = [
    () => worker.actor.post(`/runs/${run.id}/checkpoints`, { kind: 'alive' }),
    () => worker.actor.post(`/runs/${run.id}/actions`, { action: 'alive', status: 'started' }),
    async () => {
      const { items } = await done(worker.actor.get(`/runs/${run.id}/actions`));
      return worker.actor.post(`/runs/${run.id}/actions/${items[0].id}:finish`, { status: 'completed' });
    },
  ];
  for (const [n, write] of writes.entries()) {
    await write();
    assert.deepEqual(await stalledIds(), []);
    assert.equal(await sweep(), 0);
    await beSilent(run.id, 61);
    assert.equal(await sweep(), 1);
    assert.equal((await stallsOf(run.id)).length, n + 2);
  }
  await done(worker.actor.post(`/runs/${run.id}:fail`));
});

test('stalled=true lists them newest first, before and after the sweeper has run, and with the other filters', async () => {
  const runs = [];
  for (let n = 0; n < 4; n += 1) runs.push((await makeRun(baton, worker, { task: { typeId } })).run);
  const [first, second, third, lively] = runs;
  await beSilent(second.id, 100);
  assert.equal(await sweep(), 1);
  await beSilent(first.id, 100);
  await beSilent(third.id, 100);
  assert.deepEqual(await stalledIds(), [third.id, second.id, first.id]);
  assert.deepEqual(await stalledIds(`&taskId=${second.taskId}`), [second.id]);
  assert.deepEqual(await stalledIds(`&taskId=${lively.taskId}`), []);
  assert.deepEqual(await stalledIds('&status=failed'), []);
  const page = await done(worker.actor.get('/runs?stalled=true&limit=2'));
  assert.deepEqual(await stalledIds(`&limit=2&cursor=${page.nextCursor}`), [first.id]);
  assert.equal((await done(worker.actor.get('/runs?stalled=false'))).items.length, 5);
  await done(worker.actor.post(`/runs/${third.id}:cancel`));
  assert.deepEqual(await stalledIds(), [second.id, first.id]);
  assert.equal(await sweep(), 1);
});

test('a run of a type without the limit never stalls', async () => {
  const { run } = await makeRun(baton, worker);
  await baton.pool.run(
    sql`update runs set last_progress_at = now() - interval '1 year' where id = ${run.id}`,
  );
  await sweep();
  assert.deepEqual(await stallsOf(run.id), []);
});
