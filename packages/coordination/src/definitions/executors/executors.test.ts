import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import type { Permission } from '../../service/permissions.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { makeProject, makeSubproject } from '../../testing/organisation/projects.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { agentSpec, linkAgent, publishAgent } from '../../testing/registry/agents.ts';

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

test('GET lists the active members of the workspace with their roles there, newest first', async () => {
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

test('is paginated', async () => {
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

test('an unknown or foreign type or workspace gets 404; the workspace is required', async () => {
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

test('it requires workspaces.read and one of org.read and principals.read', async () => {
  const workspace = await makeWorkspace(baton);
  const asked = async (...permissions: Permission[]) =>
    (await executors(workspace.id, '', await baton.actor({ permissions }))).status;
  assert.equal(await asked('workspaces.read', 'org.read'), 200);
  assert.equal(await asked('workspaces.read', 'principals.read'), 200);
  assert.equal(await asked('workspaces.read', 'task_types.read'), 403);
  assert.equal(await asked('org.read', 'principals.read'), 403);
});

const working = (work: object | undefined, more: object = {}) =>
  agentSpec({ ...(work && { work }), ...more });
const makeAgent = async (work?: object, more: object = {}) => {
  const { key } = await publishAgent(baton.admin, working(work, more));
  return { key, ...(await linkAgent(baton, key)) };
};
const reasonsOf = async (workspaceId: string, by = baton.admin) => {
  const { items } = await done(executors(workspaceId, '&limit=200', by));
  return new Map<string, string>(items.map((item: any) => [item.principalId, item.reason]));
};

test('running agents whose specs cover the workspace and the type are included, with that reason', async () => {
  const above = await makeWorkspace(baton);
  const here = await makeWorkspace(baton, { parentId: above.id });
  const type = await done(baton.admin.get(`/task-types/${typeId}`));
  const other = `t-${newId()}`;
  await done(baton.admin.post('/task-types', { key: other, displayName: 'T' }), 201);
  const agents: [string | undefined, Awaited<ReturnType<typeof makeAgent>>][] = [
    ['agent_any', await makeAgent({})],
    ['agent_any', await makeAgent({ workspace: here.id })],
    ['agent_any', await makeAgent({ workspace: here.slug })],
    ['agent_task_types', await makeAgent({ taskTypes: [other, type.key] })],
    ['agent_task_types', await makeAgent({ taskTypes: [type.key] }, { identity: { kind: 'service' } })],
    [undefined, await makeAgent({ workspace: above.id })],
    [undefined, await makeAgent({ taskTypes: [other] })],
    [undefined, await makeAgent()],
    [undefined, await makeAgent({}, { state: 'stopped' })],
  ];
  const retired = await makeAgent({});
  await done(baton.admin.post(`/agents/${retired.key}:retire`, { reason: 'over' }));
  const revoked = await makeAgent({});
  const [binding] = (await done(baton.admin.get(`/principals/${revoked.principalId}/iam-bindings`))).items;
  await done(baton.admin.post(`/iam-bindings/${binding.id}:revoke`));
  await publishAgent(baton.admin, working({}));
  const reasons = await reasonsOf(here.id);
  for (const [index, [reason, { principalId }]] of agents.entries())
    assert.equal(reasons.get(principalId), reason, `agent ${index}`);
  assert.equal(reasons.has(retired.principalId), false, 'retired');
  assert.equal(reasons.has(revoked.principalId), false, 'without a binding');
});

test('each principal is listed once, in pages: an agent with a matching spec as an agent, otherwise as a member', async () => {
  const workspace = await makeWorkspace(baton);
  const person = await baton.actor({ kind: 'human' });
  const covers = await makeAgent({ workspace: workspace.id });
  const elsewhere = await makeAgent({ workspace: (await makeWorkspace(baton)).id });
  for (const { principalId } of [person, covers, elsewhere]) await join(workspace.id, principalId);
  const found: [string, string][] = [];
  let query = '&limit=1';
  for (;;) {
    const { items, nextCursor } = await done(executors(workspace.id, query));
    found.push(...items.map((item: any) => [item.principalId, item.reason] as [string, string]));
    if (nextCursor === null) break;
    query = `&limit=1&cursor=${nextCursor}`;
  }
  const ids = found.map(([id]) => id);
  assert.equal(new Set(ids).size, ids.length);
  const mine = [person, covers, elsewhere].map(({ principalId }) => principalId);
  assert.deepEqual(
    found.filter(([id]) => mine.includes(id)),
    [
      [elsewhere.principalId, 'any'],
      [covers.principalId, 'agent_any'],
      [person.principalId, 'any'],
    ],
  );
});

test('only the newest spec and state of an agent count', async () => {
  const workspace = await makeWorkspace(baton);
  const { key, principalId } = await makeAgent({ workspace: workspace.id });
  const reason = async () => (await reasonsOf(workspace.id)).get(principalId);
  assert.equal(await reason(), 'agent_any');
  const type = await done(baton.admin.get(`/task-types/${typeId}`));
  await done(baton.admin.post('/agents', { key, spec: working({ taskTypes: [type.key] }) }), 201);
  assert.equal(await reason(), 'agent_task_types');
  await done(baton.admin.post('/agents', { key, spec: working(undefined) }), 201);
  assert.equal(await reason(), undefined);
  await done(baton.admin.post('/agents', { key, spec: working({}) }), 201);
  assert.equal(await reason(), 'agent_any');
  await done(baton.admin.patch(`/agents/${key}/state`, { state: 'stopped' }));
  assert.equal(await reason(), undefined);
});

test('work in a project covers its workspaces, and with includeSubprojects also those of the projects below', async () => {
  const root = await makeProject(baton);
  const under = await makeWorkspace(baton, { parentId: root.workspaceId });
  const sub = await makeSubproject(baton, root);
  const cases: [object, boolean, boolean, boolean][] = [
    [{ project: root.id }, true, true, false],
    [{ project: root.id, includeSubprojects: true }, true, true, true],
    [{ project: sub.id, includeSubprojects: true }, false, false, true],
    [{ project: root.id, workspace: under.id }, false, true, false],
  ];
  for (const [work, ...expected] of cases) {
    const { principalId } = await makeAgent(work);
    const found = [];
    for (const id of [root.workspaceId, under.id, sub.workspaceId])
      found.push((await reasonsOf(id)).has(principalId));
    assert.deepEqual(found, expected, JSON.stringify(work));
  }
});

test('an agent that works in workspaces that the caller can’t see is not listed, even if its spec covers visible ones', async () => {
  const root = await makeProject(baton);
  const under = await makeWorkspace(baton, { parentId: root.workspaceId });
  const { person } = await makeNarrowPerson(baton);
  await join(under.id, person.principalId);
  const hidden = await makeAgent({ project: root.id });
  const everywhere = await makeAgent({});
  assert.ok((await reasonsOf(under.id)).has(hidden.principalId));
  const seen = await reasonsOf(under.id, person);
  assert.deepEqual([seen.has(hidden.principalId), seen.has(everywhere.principalId)], [false, true]);
  assert.equal((await executors(root.workspaceId, '', person)).status, 404);
});
