import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { launch } from '../../testing/execution/children.ts';
import { done, eventsOf, makeRun, makeTask, makeWorker, refused } from '../../testing/leases.ts';
import { relateToNew } from '../../testing/work/relations.ts';

const relationsMax = 1000;

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const relate = (from: string, toTask: string, type = 'related_to') =>
  baton.admin.post(`/tasks/${from}/relations`, { toTask, type });
const relationsOf = async (id: string) => (await done(baton.admin.get(`/tasks/${id}/relations`))).items;

async function makeHub(count: number, more: object = {}) {
  const hub = await makeTask(baton, more);
  await relateToNew(baton, hub.id, count);
  return hub;
}

test('a task has at most 1,000 relations in both directions together; removing one makes room', async () => {
  const hub = await makeHub(relationsMax - 1);
  const [last, other] = [await makeTask(baton), await makeTask(baton)];
  const { id } = await done(relate(last.id, hub.id, 'depends_on'), 201);
  assert.equal((await relationsOf(hub.id)).length, relationsMax);
  const details = { taskId: hub.id, maxRelations: relationsMax };
  for (const type of ['parent', 'blocks', 'depends_on', 'spawned_by', 'related_to']) {
    assert.deepEqual(await refused(relate(hub.id, other.id, type), 422, 'invalid_relation'), details);
    assert.deepEqual(await refused(relate(other.id, hub.id, type), 422, 'invalid_relation'), details);
  }
  assert.deepEqual(await relationsOf(other.id), []);
  // The first refusal in the documented order is returned.
  await refused(relate(last.id, hub.id, 'depends_on'), 409, 'relation_exists');
  await refused(relate(hub.id, last.id, 'depends_on'), 422, 'dependency_cycle');
  await done(baton.admin.delete(`/tasks/${hub.id}/relations/${id}`), 204);
  await done(relate(other.id, hub.id), 201);
});

test('a new task below one with 1,000 relations is refused, and not created', async () => {
  const hub = await makeHub(relationsMax);
  const title = `below ${hub.id}`;
  const details = await refused(
    baton.admin.post('/tasks', { title, parentTask: hub.publicId }),
    422,
    'invalid_relation',
  );
  assert.deepEqual(details, { taskId: hub.id, maxRelations: relationsMax });
  assert.deepEqual((await done(baton.admin.get(`/tasks?q=${title}`))).items, []);
});

test("a run of a task with 1,000 relations can't launch a child, and its context has them all", async () => {
  const worker = await makeWorker(baton);
  const { task, run } = await makeRun(baton, worker);
  await relateToNew(baton, task.id, relationsMax);
  await refused(launch(worker, run.id), 422, 'invalid_relation');
  assert.equal((await relationsOf(task.id)).length, relationsMax);
  const { relations } = await done(worker.actor.get(`/runs/${run.id}/context`));
  assert.deepEqual(relations, await relationsOf(task.id));
});

test('declared completion work fails with the same code, and the completion is kept', async () => {
  const ensureWork = { type: 'task', key: 'after-$.task.publicId', title: 'Follow up' };
  await insertTestType(baton, {
    key: 'hub',
    completionSchema: { onComplete: { actions: [{ ensureWork }] } },
  });
  const hub = await makeHub(relationsMax, { typeKey: 'hub' });
  await done(baton.admin.post(`/tasks/${hub.id}:complete`, {}, { 'if-match': 'task-1' }));
  const failed = (await eventsOf(baton, hub.id)).at(-1);
  assert.equal(failed?.type, 'task.completion_work_failed');
  assert.deepEqual(failed.payload['failedAction'], {
    index: 0,
    action: 'ensureWork',
    status: 'failed',
    code: 'invalid_relation',
  });
});
