import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { claimTask, done, eventsOf, makeTask, makeWorker, refused } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { changeWorkspace, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
  await insertTestType(baton, { key: 'bug' });
});
after(() => baton.close());

const create = (more: object) => baton.admin.post('/tasks', { title: 'work', ...more });
const change = (id: string, version: number, body: object) =>
  baton.admin.patch(`/tasks/${id}`, body, { 'if-match': `task-${version}` });
const archive = (id: string) => done(baton.admin.post(`/workspaces/${id}:archive`));

test('a task belongs to its workspace, and so do its events', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const task = await done(create({ workspaceId }), 201);
  assert.equal(task.workspaceId, workspaceId);
  const worker = await makeWorker(baton);
  const { claimId, fencingToken } = await claimTask(worker, task.id);
  const run = await done(worker.actor.post(`/tasks/${task.id}:start-run`, { claimId, fencingToken }), 201);
  await journalIsStable(baton.pool);
  const { items } = await done(baton.admin.get('/events?limit=200'));
  const inIt = items.filter((event: any) => [task.id, run.id, claimId].includes(event.entityId));
  assert.ok(inIt.length >= 3);
  for (const event of inIt) assert.equal(event.workspaceId, workspaceId, event.type);
});

test('POST refuses an unknown, an archived and a narrower workspace, in this order, after owner and assignee', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const child = await makeWorkspace(baton, { parentId: workspaceId });
  await done(changeWorkspace(baton, workspaceId, 1, { taskTypes: ['bug'] }));
  const wrong = { acceptance: [{}] };
  await refused(create({ ...wrong, workspaceId: newId(), ownerId: newId() }), 404, 'not_found').then(
    (details) => assert.deepEqual(Object.keys(details), ['ownerId']),
  );
  const unknown = newId();
  assert.deepEqual(await refused(create({ ...wrong, workspaceId: unknown }), 404, 'not_found'), {
    workspaceId: unknown,
  });
  assert.deepEqual(await refused(create({ ...wrong, workspaceId: child.id }), 422, 'task_type_not_allowed'), {
    workspaceId: child.id,
    typeKey: 'task',
  });
  await done(create({ workspaceId: child.id, typeKey: 'bug' }), 201);
  await archive(child.id);
  assert.deepEqual(await refused(create({ ...wrong, workspaceId: child.id }), 422, 'workspace_archived'), {
    workspaceId: child.id,
  });
  await refused(create({ ...wrong, workspaceId }), 422, 'task_type_not_allowed');
  await refused(baton.otherAdmin.post('/tasks', { title: 'x', workspaceId }), 404, 'not_found');
});

test('PATCH moves a task into a workspace and out; the event is filed where it then is', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const { id } = await makeTask(baton);
  const moved = await done(change(id, 1, { workspaceId }));
  assert.deepEqual([moved.workspaceId, moved.version], [workspaceId, 2]);
  assert.equal((await done(change(id, 2, { workspaceId }))).version, 2);
  assert.equal((await done(change(id, 2, { workspaceId: null }))).workspaceId, null);
  const events = await eventsOf(baton, id);
  assert.deepEqual(
    events.slice(1).map(({ payload }) => payload['changes']),
    [{ workspaceId }, { workspaceId: null }],
  );
  await journalIsStable(baton.pool);
  const { items } = await done(baton.admin.get(`/events?entityId=${id}`));
  assert.deepEqual(
    items.map((event: any) => event.workspaceId),
    [null, workspaceId, null],
  );
});

test('PATCH refuses an unknown, an archived and a narrower workspace, after owner and before custom fields', async () => {
  const [narrow, gone] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  await done(changeWorkspace(baton, narrow.id, 1, { taskTypes: [] }));
  await archive(gone.id);
  const { id } = await makeTask(baton);
  const wrong = { customFields: [] };
  await refused(change(id, 1, { ...wrong, workspaceId: newId() }), 404, 'not_found');
  await refused(change(id, 1, { ...wrong, workspaceId: gone.id }), 422, 'workspace_archived');
  await refused(change(id, 1, { ...wrong, workspaceId: narrow.id }), 422, 'task_type_not_allowed');
  await refused(change(id, 1, { ...wrong, workspaceId: narrow.id, assigneeId: newId() }), 404, 'not_found');
});

test('a task can still be changed after its workspace was archived or restricted', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const task = await done(create({ workspaceId }), 201);
  await done(changeWorkspace(baton, workspaceId, 1, { taskTypes: [] }));
  await archive(workspaceId);
  assert.equal((await done(change(task.id, 1, { title: 'new', workspaceId }))).version, 2);
});
