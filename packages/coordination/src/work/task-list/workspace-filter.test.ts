import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let root: { id: string };
let child: { id: string };
let assignee: string;
/** Two tasks in the root alternating with two below it, and one without a workspace. */
const tasks: { id: string }[] = [];

before(async () => {
  baton = await startCoordination();
  root = await makeWorkspace(baton);
  child = await makeWorkspace(baton, { parentId: root.id });
  assignee = (await baton.actor()).principalId;
  const days = ['2030-01-04', '2030-01-03', null, '2030-01-01', '2030-01-02'];
  for (const [n, workspaceId] of [root.id, child.id, root.id, child.id, null].entries())
    tasks.push(
      await makeTask(baton, {
        workspaceId,
        dueDate: days[n],
        ...(n < 2 && { assigneeId: assignee }),
        priority: n === 2 ? 'critical' : 'low',
        title: ['none', 'once', 'twice', 'thrice', 'often'][n],
      }),
    );
});
after(() => baton.close());

const numbers = async (path: string): Promise<number[]> =>
  (await done(baton.admin.get(path))).items.map(({ id }: { id: string }) =>
    tasks.findIndex((task) => task.id === id),
  );

/** All pages, each with one task. */
async function paged(path: string): Promise<number[]> {
  const found: number[] = [];
  let cursor = '';
  for (;;) {
    const { items, nextCursor } = await done(baton.admin.get(`${path}&limit=1${cursor}`));
    found.push(tasks.findIndex(({ id }) => id === items[0]?.id));
    if (nextCursor === null) return found;
    cursor = `&cursor=${nextCursor}`;
  }
}

test('GET /tasks: workspaceId selects only the workspace itself, includeDescendants adds its descendants', async () => {
  const [inRoot, below] = [`/tasks?workspaceId=${root.id}`, `/tasks?workspaceId=${child.id}`];
  assert.deepEqual(await numbers(inRoot), [2, 0]);
  assert.deepEqual(await numbers(`${inRoot}&includeDescendants=false`), [2, 0]);
  assert.deepEqual(await numbers(`${inRoot}&includeDescendants=true`), [3, 2, 1, 0]);
  assert.deepEqual(await numbers(`${below}&includeDescendants=true`), [3, 1]);
  assert.deepEqual(await paged(`${inRoot}&includeDescendants=true`), [3, 2, 1, 0]);
});

test('GET /tasks: it is intersected with the other filters and sorted as they are', async () => {
  const path = `/tasks?workspaceId=${root.id}&includeDescendants=true`;
  assert.deepEqual(await numbers(`${path}&priority=critical`), [2]);
  assert.deepEqual(await numbers(`${path}&assigneeId=${assignee}`), [1, 0]);
  assert.deepEqual(await numbers(`${path}&q=once`), [1]);
  assert.deepEqual(await numbers(`${path}&dueFrom=2030-01-03`), [1, 0]);
  assert.deepEqual(await numbers(`${path}&sort=dueDate`), [3, 1, 0, 2], 'the undated last');
  assert.deepEqual(await paged(`${path}&sort=dueDate`), [3, 1, 0, 2]);
});

test('GET /work/available: the same, the most urgent first', async () => {
  const unassigned = `/work/available?workspaceId=${root.id}`;
  assert.deepEqual(await numbers(unassigned), [2]);
  assert.deepEqual(await numbers(`${unassigned}&includeDescendants=true`), [2, 3]);
  const path = `${unassigned}&includeAssigned=true`;
  assert.deepEqual(await numbers(path), [2, 0]);
  assert.deepEqual(await numbers(`${path}&includeDescendants=true`), [2, 0, 1, 3]);
  assert.deepEqual(await paged(`${path}&includeDescendants=true`), [2, 0, 1, 3]);
  assert.deepEqual(await numbers(`${path}&assigneeId=${assignee}`), [0]);
  assert.deepEqual(await numbers(`${path}&includeDescendants=true&assigneeId=${assignee}`), [0, 1]);
  assert.deepEqual(await numbers(`/work/available?workspaceId=${child.id}&includeAssigned=true`), [1, 3]);
});

test('the tasks of a moved workspace leave the filter; those of an archived one are still listed', async () => {
  const moved = await makeWorkspace(baton, { parentId: root.id });
  const task = await makeTask(baton, { workspaceId: moved.id });
  const ids = async () =>
    (await done(baton.admin.get(`/tasks?workspaceId=${root.id}&includeDescendants=true`))).items.map(
      ({ id }: { id: string }) => id,
    );
  assert.ok((await ids()).includes(task.id));
  await done(baton.admin.post(`/workspaces/${moved.id}:move`, { newParentId: null }));
  assert.ok(!(await ids()).includes(task.id));
  await done(baton.admin.post(`/workspaces/${moved.id}:archive`));
  const { items } = await done(baton.admin.get(`/tasks?workspaceId=${moved.id}`));
  assert.equal(items[0].id, task.id);
});

test("another tenant's workspace returns 404", async () => {
  for (const path of ['tasks', 'work/available'])
    assert.deepEqual(
      await refused(baton.otherAdmin.get(`/${path}?workspaceId=${root.id}`), 404, 'not_found'),
      { workspaceId: root.id },
    );
});
