import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const word = () => crypto.randomUUID().slice(0, 8);
const makeRole = (more: object = {}) =>
  done(baton.admin.post('/roles', { slug: `r-${word()}`, name: 'R', ...more }), 201);
const makeWorkspace = (more: object = {}) =>
  done(baton.admin.post('/workspaces', { slug: `w-${word()}`, name: 'W', ...more }), 201);
const participantsOf = async (id: string, query = '') =>
  done(baton.admin.get(`/workspaces/${id}/participants${query}`));

async function holderOf(roleId: string, workspaceId: string | null): Promise<string> {
  const { principalId } = await baton.actor();
  await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId, workspaceId }), 201);
  return principalId;
}

test("lists members, holders of the workspace's own roles, and principals with a role assigned in it", async () => {
  const above = await makeWorkspace();
  const workspace = await makeWorkspace({ parentId: above.id });
  const beside = await makeWorkspace({ parentId: above.id });
  const [ofTenant, own] = [await makeRole(), await makeRole({ workspaceId: workspace.id })];
  const { principalId: member } = await baton.actor();
  await done(baton.admin.post(`/workspaces/${workspace.id}/members`, { principalId: member }), 201);
  const givenHere = await holderOf(ofTenant.id, workspace.id);
  const ownEverywhere = await holderOf(own.id, null);
  const ownFromAbove = await holderOf(own.id, above.id);
  await holderOf(own.id, beside.id);
  await holderOf(ofTenant.id, null);
  await holderOf(ofTenant.id, above.id);
  const { items } = await participantsOf(workspace.id);
  const roleOf = ({ id, slug, name, workspaceId }: any, assignmentWorkspaceId: string | null) => ({
    roleId: id,
    ...{ slug, name, roleWorkspaceId: workspaceId, assignmentWorkspaceId },
  });
  assert.deepEqual(
    items.map((item: any) => [item.principalId, item.member, item.roles]),
    [
      [ownFromAbove, false, [roleOf(own, above.id)]],
      [ownEverywhere, false, [roleOf(own, null)]],
      [givenHere, false, [roleOf(ofTenant, workspace.id)]],
      [member, true, []],
    ],
  );
  const { kind, displayName, status } = await done(baton.admin.get(`/principals/${member}`));
  assert.deepEqual(items.at(-1), { principalId: member, kind, displayName, status, member: true, roles: [] });
  const page = await participantsOf(workspace.id, '?limit=3');
  assert.equal(page.items.length, 3);
  const rest = await participantsOf(workspace.id, `?limit=3&cursor=${page.nextCursor}`);
  assert.deepEqual(rest, { items: items.slice(3), nextCursor: null });
});

test('requires org.read or principals.read in addition to workspaces.read; an unknown workspace returns 404', async () => {
  const { id } = await makeWorkspace();
  const read = async (...permissions: any[]) =>
    (await baton.actor({ permissions })).get(`/workspaces/${id}/participants`);
  const details = await refused(read('workspaces.read'), 403, 'permission_denied');
  assert.deepEqual(details, { required: ['org.read', 'principals.read'] });
  await refused(read('org.read', 'principals.read'), 403, 'permission_denied');
  await done(read('workspaces.read', 'org.read'));
  await done(read('workspaces.read', 'principals.read'));
  await refused(baton.admin.get(`/workspaces/${newId()}/participants`), 404, 'not_found');
  await refused(baton.admin.get(`/workspaces/${id}/participants?cursor=x`), 422, 'invalid_cursor');
});
