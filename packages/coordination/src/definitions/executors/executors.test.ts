import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/kernel/ids';
import type { Permission } from '../../service/permissions.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/workspaces.ts';

let baton: TestCoordination;
let typeId: string;
before(async () => {
  baton = await startCoordination();
  typeId = (await done(baton.admin.get('/task-types'))).items[0].id;
});
after(() => baton.close());

const join = async (workspaceId: string, principalId: string) =>
  done(baton.admin.post(`/workspaces/${workspaceId}/members`, { principalId }), 201);
const executors = (workspaceId: string, query = '', by = baton.admin) =>
  by.get(`/task-types/${typeId}/executors?workspaceId=${workspaceId}${query}`);

test('lists the active members of the workspace with their roles there, newest first', async () => {
  const above = await makeWorkspace(baton);
  const workspace = await makeWorkspace(baton, { parentId: above.id });
  const [person, agent] = [await baton.actor({ kind: 'human' }), await baton.actor()];
  const [disabled, elsewhere, stranger] = [await baton.actor(), await baton.actor(), await baton.actor()];
  for (const { principalId } of [person, agent, disabled]) await join(workspace.id, principalId);
  await join(above.id, elsewhere.principalId);
  await done(baton.admin.post(`/principals/${disabled.principalId}:disable`));
  const role = await done(baton.admin.post('/roles', { slug: 'smith', name: 'Smith' }), 201);
  for (const { principalId } of [agent, stranger])
    await done(
      baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id, workspaceId: workspace.id }),
      201,
    );
  const { items, nextCursor } = await done(executors(workspace.id));
  assert.equal(nextCursor, null);
  const [first, second, ...more] = items;
  assert.deepEqual(more, []);
  const { displayName, ...rest } = first;
  assert.equal(typeof displayName, 'string');
  assert.deepEqual(rest, {
    principalId: agent.principalId,
    kind: 'agent',
    roles: [
      {
        roleId: role.id,
        slug: 'smith',
        name: 'Smith',
        roleWorkspaceId: null,
        assignmentWorkspaceId: workspace.id,
      },
    ],
    reason: 'any',
  });
  assert.deepEqual([second.principalId, second.kind, second.roles], [person.principalId, 'human', []]);
});

test('comes in pages', async () => {
  const workspace = await makeWorkspace(baton);
  const members = [await baton.actor(), await baton.actor(), await baton.actor()];
  for (const { principalId } of members) await join(workspace.id, principalId);
  const first = await done(executors(workspace.id, '&limit=2'));
  const second = await done(executors(workspace.id, `&limit=2&cursor=${first.nextCursor}`));
  const found = [...first.items, ...second.items].map(({ principalId }) => principalId);
  assert.deepEqual(found, members.map(({ principalId }) => principalId).reverse());
  assert.equal(second.nextCursor, null);
  await refused(executors(workspace.id, '&cursor=x'), 422, 'invalid_cursor');
});

test('an unknown or foreign type or workspace is 404; a workspace must be named', async () => {
  const workspace = await makeWorkspace(baton);
  const foreign = await done(baton.otherAdmin.post('/workspaces', { slug: 'theirs', name: 'T' }), 201);
  for (const id of [newId(), foreign.id]) await refused(executors(id), 404, 'not_found');
  const [theirs] = (await done(baton.otherAdmin.get('/task-types'))).items;
  for (const id of [newId(), theirs.id])
    await refused(
      baton.admin.get(`/task-types/${id}/executors?workspaceId=${workspace.id}`),
      404,
      'not_found',
    );
  await refused(baton.admin.get(`/task-types/${typeId}/executors`), 400, 'invalid_request');
});

test('needs workspaces.read and one of org.read and principals.read', async () => {
  const workspace = await makeWorkspace(baton);
  const asked = async (...permissions: Permission[]) =>
    (await executors(workspace.id, '', await baton.actor({ permissions }))).status;
  assert.equal(await asked('workspaces.read', 'org.read'), 200);
  assert.equal(await asked('workspaces.read', 'principals.read'), 200);
  assert.equal(await asked('workspaces.read', 'task_types.read'), 403);
  assert.equal(await asked('org.read', 'principals.read'), 403);
});
