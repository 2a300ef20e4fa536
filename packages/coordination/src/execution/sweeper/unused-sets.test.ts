import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';
import { removeUnusedSets } from './queue-tidier.ts';

let baton: TestCoordination;
let worker: ReturnType<typeof makeWorkerTools>;
let agent: Worker;
before(async () => {
  baton = await startCoordination();
  worker = makeWorkerTools(baton);
  agent = await makeWorker(baton);
  for (const name of ['a', 'b', 'c']) {
    const { id } = await done(baton.admin.post('/capabilities', { name }), 201);
    const of = `/principals/${agent.actor.principalId}/capabilities`;
    await done(baton.admin.post(of, { capabilityId: id }), 201);
  }
});
after(async () => {
  await worker.close();
  await baton.close();
});

const asking = (...capabilities: string[]) => ({ requirements: { capabilities } });
const forget = () => removeUnusedSets(worker.tools).run();
const sets = async () =>
  (
    await baton.pool.row(
      sql<{ n: number }>`select count(distinct set_id)::integer as n from queued_requirements`,
    )
  )?.n;
const available = async () =>
  (await done(agent.actor.get('/work/available?limit=200'))).items.map(({ id }: { id: string }) => id);

test('the sets of a task whose requirements change, and are removed, are deleted', async () => {
  const task = await makeTask(baton, asking('a'));
  for (const [n, names] of [['b'], ['c'], ['a', 'b'], ['a', 'c']].entries())
    await done(baton.admin.patch(`/tasks/${task.id}`, asking(...names), { 'if-match': `task-${n + 1}` }));
  assert.equal(await sets(), 5);
  assert.equal(await forget(), 4);
  assert.equal(await sets(), 1);
  assert.deepEqual(await available(), [task.id]);
  const claim = await done(agent.actor.post('/work:claim-next', { sessionId: agent.sessionId }));
  assert.equal(claim.items.length, 1);
  assert.equal(await forget(), 0);
  await done(agent.actor.post(`/claims/${claim.items[0].claim.id}:release`, {}));
  assert.deepEqual(await available(), [task.id]);
  const { version } = await done(baton.admin.get(`/tasks/${task.id}`));
  await done(baton.admin.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${version}` }));
  assert.equal(await forget(), 1);
  assert.equal(await sets(), 0);
});

test('a set that other queued tasks have is kept, and that of a claimed task is restored with it', async () => {
  const [first, second] = [await makeTask(baton, asking('a')), await makeTask(baton, asking('a'))];
  const claim = await claimTask(agent, first.id);
  await baton.pool.run(sql`delete from work_queue where task_id = ${first.id}`);
  await done(baton.admin.post(`/tasks/${second.id}:complete`, {}, { 'if-match': 'task-1' }));
  assert.equal(await forget(), 1);
  assert.equal(await sets(), 0);
  await done(agent.actor.post(`/claims/${claim.id}:release`, {}));
  assert.deepEqual(await available(), [first.id]);
  const third = await makeTask(baton, asking('a'));
  await done(baton.admin.patch(`/tasks/${third.id}`, asking('b'), { 'if-match': 'task-1' }));
  assert.equal(await forget(), 0);
  assert.deepEqual(await available(), [first.id, third.id]);
  for (const [{ id }, version] of [
    [first, 3],
    [third, 2],
  ] as const)
    await done(baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': `task-${version}` }));
  assert.equal(await forget(), 2);
});

test('a task that is queued while its set is being deleted is found, in either order', async () => {
  const gone = await makeTask(baton, asking('c'));
  await done(baton.admin.post(`/tasks/${gone.id}:complete`, {}, { 'if-match': 'task-1' }));
  const made = await baton.pool.transaction(async (tx) => {
    await tx.row(sql`select forget_left_sets(10)`);
    const made = baton.admin.post('/tasks', { title: 'new', ...asking('c') });
    await untilBlockedBy(tx, baton, made);
    return { made };
  });
  const { id } = await done(made.made, 201);
  assert.deepEqual(await available(), [id]);
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`update tasks set pending_gates = 1 where id = ${id}`);
    await tx.run(sql`update tasks set pending_gates = 0 where id = ${id}`);
    assert.equal(await forget(), 0, 'a running transaction uses the set');
  });
  assert.deepEqual(await available(), [id]);
});
