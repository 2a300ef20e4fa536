import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { makeWorkspace, makeWorkspaceType } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const make = (parentId: string | null = null, more: object = {}) =>
  makeWorkspace(baton, { parentId, ...more });
const move = (id: string, newParentId: string | null, query = '', headers = {}) =>
  baton.admin.post(`/workspaces/${id}:move${query}`, { newParentId }, headers);
const archive = (id: string) => done(baton.admin.post(`/workspaces/${id}:archive`));
const violationsOf = async (id: string, newParentId: string | null) =>
  (await done(move(id, newParentId, '?dryRun=true'))).violations;

async function pathOf(id: string): Promise<string[]> {
  const row = await baton.pool.row<{ path: string[] }>(sql`select path from workspaces where id = ${id}`);
  return row?.path ?? [];
}

test('a move includes the descendants, and writes workspace.moved', async () => {
  const [from, to] = [await make(), await make()];
  const moved = await make(from.id);
  const below = await make(moved.id);
  const answer = await done(move(moved.id, to.id));
  assert.deepEqual([answer.parentId, answer.version, answer.status], [to.id, 2, 'active']);
  assert.deepEqual(await pathOf(moved.id), [to.id, moved.id]);
  assert.deepEqual(await pathOf(below.id), [to.id, moved.id, below.id]);
  assert.equal((await done(baton.admin.get(`/workspaces/${below.id}`))).version, 1);
  const events = await eventsOf(baton, moved.id);
  assert.deepEqual(
    [events.at(-1)?.type, events.at(-1)?.payload],
    ['workspace.moved', { fromParentId: from.id, toParentId: to.id }],
  );
  assert.equal((await done(move(moved.id, null))).parentId, null);
  assert.deepEqual(await pathOf(below.id), [moved.id, below.id]);
});

test('a move to the current parent returns 200 without an event', async () => {
  const parent = await make();
  const { id } = await make(parent.id);
  await archive(id);
  await archive(parent.id);
  assert.equal((await done(move(id, parent.id))).version, 2);
  assert.deepEqual(await violationsOf(id, parent.id), []);
  assert.equal((await eventsOf(baton, id)).length, 2);
});

test('an archived workspace moves, and stays archived', async () => {
  const [to, moved] = [await make(), await make()];
  await archive(moved.id);
  const answer = await done(move(moved.id, to.id));
  assert.deepEqual([answer.status, answer.parentId], ['archived', to.id]);
});

test('If-Match may be absent; another version returns 409 version_conflict', async () => {
  const [to, moved] = [await make(), await make()];
  const headers = (tag: string) => ({ 'if-match': tag });
  assert.deepEqual(
    await refused(move(moved.id, to.id, '', headers('workspace-4')), 409, 'version_conflict'),
    { workspaceId: moved.id, entity: 'workspace', id: moved.id, expectedVersion: 4, currentVersion: 1 },
  );
  await refused(move(moved.id, to.id, '', headers('"workspace-0"')), 409, 'version_conflict');
  await refused(move(moved.id, to.id, '', headers('task-1')), 400, 'invalid_if_match');
  await done(move(moved.id, to.id, '', headers(' ')));
  await done(move(moved.id, null, '', headers('"workspace-2"')));
});

test('refusals are returned in the documented order; dryRun lists them all and writes nothing', async () => {
  const noChild = await makeWorkspaceType(baton, { allowedChildTypes: [] });
  const root = await make();
  const child = await make(root.id, { slug: 'child', typeId: noChild.id });
  const leaf = await make(root.id);
  await refused(move(newId(), newId()), 404, 'not_found');
  assert.deepEqual(await refused(move(root.id, newId()), 404, 'not_found').then(Object.keys), [
    'workspaceId',
  ]);
  const cycle = (newParentId: string) => ({ workspaceId: root.id, newParentId });
  assert.deepEqual(await refused(move(root.id, root.id), 422, 'workspace_cycle'), cycle(root.id));
  assert.deepEqual(await refused(move(root.id, leaf.id), 422, 'workspace_cycle'), cycle(leaf.id));

  const other = await make(null, { typeId: noChild.id });
  await refused(move(leaf.id, other.id), 422, 'child_type_not_allowed');
  const violations = await violationsOf(root.id, child.id);
  assert.deepEqual(violations, [
    { code: 'workspace_cycle', details: cycle(child.id) },
    {
      code: 'child_type_not_allowed',
      details: { parentTypeKey: noChild.key, childTypeKey: 'generic', allowedChildTypes: [] },
    },
  ]);
  const twin = await make(null, { slug: 'child' });
  assert.deepEqual(await refused(move(twin.id, root.id), 409, 'workspace_slug_conflict'), { slug: 'child' });
  await archive(child.id);
  await refused(move(twin.id, child.id), 422, 'workspace_archived');
  assert.deepEqual(
    (await violationsOf(twin.id, child.id)).map(({ code }: { code: string }) => code),
    ['workspace_archived', 'child_type_not_allowed'],
  );
  await refused(move(twin.id, newId(), '?dryRun=true'), 404, 'not_found');
  const events = await eventsOf(baton, root.id, leaf.id, twin.id);
  assert.deepEqual(new Set(events.map(({ type }) => type)), new Set(['workspace.created']));
  assert.deepEqual(await violationsOf(leaf.id, null), []);
  assert.deepEqual(await pathOf(leaf.id), [root.id, leaf.id]);
});

test('a move that results in more than 64 levels returns 422 workspace_too_deep', async () => {
  const chain = async (levels: number) => {
    const ids: string[] = [];
    for (let level = 0; level < levels; level += 1) ids.push((await make(ids.at(-1) ?? null)).id);
    return ids;
  };
  const [high, low] = [await chain(40), await chain(25)];
  const [root, second] = low as [string, string];
  await refused(move(root, high.at(-1) as string), 422, 'workspace_too_deep');
  await done(move(second, high.at(-1) as string));
  assert.equal((await pathOf(low.at(-1) as string)).length, 64);
});
