import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeRun, makeTask, makeWorker, refused, type Worker } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

const use = (runId: string, usage: object) =>
  done(worker.actor.post(`/runs/${runId}/actions`, { action: 'think', usage }), 201);
const usageOf = (ref: string, query = '') => done(worker.actor.get(`/tasks/${ref}/usage${query}`));
const relate = (from: string, to: string, type: string) =>
  done(baton.admin.post(`/tasks/${from}/relations`, { toTask: to, type }), 201);

test('a task without runs has no usage; an unknown task returns 404', async () => {
  const task = await makeTask(baton);
  assert.deepEqual(await usageOf(task.publicId), { inputTokens: 0, outputTokens: 0, costs: [] });
  await refused(worker.actor.get(`/tasks/${newId()}/usage`), 404, 'not_found');
  await refused(baton.otherAdmin.get(`/tasks/${task.id}/usage`), 404, 'not_found');
});

test('sums the attempts at a task, by currency', async () => {
  const { task, claim, run } = await makeRun(baton, worker);
  await use(run.id, { inputTokens: 10, outputTokens: 1, costMicros: 100 });
  await done(worker.actor.post(`/runs/${run.id}:fail`));
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  const second = await done(worker.actor.post(`/tasks/${task.id}:start-run`, keys), 201);
  await use(second.id, { inputTokens: 5, costMicros: 50 });
  await use(second.id, { costMicros: 7, currency: 'EUR' });
  assert.deepEqual(await usageOf(task.id), {
    inputTokens: 15,
    outputTokens: 1,
    costs: [
      { currency: 'EUR', costMicros: 7 },
      { currency: 'USD', costMicros: 150 },
    ],
  });
});

test('tasks below are included if the caller can see them', async () => {
  const workspace = await makeWorkspace(baton);
  const open = await makeRun(baton, worker, { task: { workspaceId: workspace.id } });
  const hidden = await makeRun(baton, worker, { task: { workspaceId: (await makeWorkspace(baton)).id } });
  await relate(hidden.task.id, open.task.id, 'parent');
  await use(open.run.id, { inputTokens: 1 });
  await use(hidden.run.id, { inputTokens: 10 });
  const member = await baton.actor({ kind: 'human' });
  const { principalId } = member;
  await done(baton.admin.post(`/workspaces/${workspace.id}/members`, { principalId }), 201);
  const path = `/tasks/${open.task.id}/usage?includeDescendants=true`;
  assert.equal((await done(member.get(path))).inputTokens, 11);
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${principalId}`,
  );
  assert.equal((await done(member.get(path))).inputTokens, 1);
});

test('includeDescendants adds subtasks and spawned tasks at any depth, each once', async () => {
  const runs = [];
  for (let n = 0; n < 4; n += 1) runs.push(await makeRun(baton, worker));
  const [top, child, spawned, other] = runs.map(({ task }) => task.id as string) as [
    string,
    string,
    string,
    string,
  ];
  for (const [n, { run }] of runs.entries()) await use(run.id, { inputTokens: 10 ** n });
  await relate(child, top, 'parent');
  await relate(spawned, child, 'spawned_by');
  await relate(spawned, top, 'spawned_by');
  await relate(top, spawned, 'spawned_by');
  await relate(other, top, 'related_to');
  assert.equal((await usageOf(top)).inputTokens, 1);
  assert.equal((await usageOf(top, '?includeDescendants=true')).inputTokens, 111);
  assert.equal((await usageOf(top, '?includeDescendants=false')).inputTokens, 1);
  assert.equal((await usageOf(child, '?includeDescendants=true')).inputTokens, 111);
});
