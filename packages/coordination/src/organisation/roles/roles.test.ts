import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

let number = 0;
const slug = () => `role-${(number += 1)}`;
const makeRole = (more: object = {}) =>
  done(baton.admin.post('/roles', { slug: slug(), name: 'Reviewer', ...more }), 201);
const makeWorkspace = (more: object = {}) =>
  done(baton.admin.post('/workspaces', { slug: slug(), name: 'W', ...more }), 201);
const change = (id: string, body: object, version = 1) =>
  baton.admin.patch(`/roles/${id}`, body, { 'if-match': `role-${version}` });

test('POST returns 201 with the role and writes role.created', async () => {
  const given = { slug: slug(), name: 'Reviewer', description: 'Reads.' };
  const { status, body, headers } = await baton.admin.post('/roles', given);
  assert.equal(status, 201);
  const { id, createdAt, updatedAt, ...rest } = body;
  assert.ok(createdAt && updatedAt);
  assert.deepEqual(rest, {
    ...given,
    tenantId: baton.tenantId,
    workspaceId: null,
    version: 1,
    package: null,
  });
  assert.equal(headers.get('etag'), '"role-1"');
  const [event] = await eventsOf(baton, id);
  assert.deepEqual(event && [event.type, event.payload], [
    'role.created',
    { slug: given.slug, name: 'Reviewer', workspaceId: null },
  ]);
});

test('a role of a workspace: an unknown workspace returns 404, an archived one 422; its slug is free elsewhere', async () => {
  const workspace = await makeWorkspace();
  const ofTenant = await makeRole();
  const role = await makeRole({ slug: ofTenant.slug, workspaceId: workspace.id });
  assert.equal(role.workspaceId, workspace.id);
  const again = { slug: role.slug, name: 'x', workspaceId: workspace.id };
  assert.deepEqual(await refused(baton.admin.post('/roles', again), 409, 'role_slug_conflict'), {
    slug: role.slug,
  });
  await refused(baton.admin.post('/roles', { ...again, workspaceId: null }), 409, 'role_slug_conflict');
  await refused(baton.admin.post('/roles', { ...again, workspaceId: newId() }), 404, 'not_found');
  await baton.pool.run(sql`update workspaces set status = 'archived' where id = ${workspace.id}`);
  await refused(baton.admin.post('/roles', { ...again, slug: slug() }), 422, 'workspace_archived');
});

test('a slug has 2 to 63 characters of a-z, 0-9 and -, a name 1 to 200', async () => {
  for (const wrong of ['x', 'X1', '-a', 'a_b', 'a'.repeat(64)])
    await refused(baton.admin.post('/roles', { slug: wrong, name: 'x' }), 400, 'invalid_request');
  for (const wrong of ['', 'n'.repeat(201)])
    await refused(baton.admin.post('/roles', { slug: slug(), name: wrong }), 400, 'invalid_request');
});

test('GET returns one, and lists newest first, also for one workspace; no package has any', async () => {
  const workspace = await makeWorkspace();
  const [first, second] = [
    await makeRole({ workspaceId: workspace.id }),
    await makeRole({ workspaceId: workspace.id }),
  ];
  const read = await baton.admin.get(`/roles/${first.id}`);
  assert.deepEqual([read.status, read.body, read.headers.get('etag')], [200, first, '"role-1"']);
  await refused(baton.admin.get(`/roles/${newId()}`), 404, 'not_found');
  const page = await done(baton.admin.get(`/roles?workspaceId=${workspace.id}&limit=1`));
  assert.deepEqual(page.items, [second]);
  const rest = await done(
    baton.admin.get(`/roles?workspaceId=${workspace.id}&limit=1&cursor=${page.nextCursor}`),
  );
  assert.deepEqual(rest, { items: [first], nextCursor: null });
  const all = await done(baton.admin.get('/roles'));
  assert.equal(all.items[0].id, second.id);
  assert.deepEqual((await done(baton.admin.get('/roles?package=x'))).items, []);
  await refused(baton.admin.get('/roles?cursor=nonsense'), 422, 'invalid_cursor');
});

test('PATCH changes name, description and slug, raises the version and writes role.updated', async () => {
  const role = await makeRole();
  const changed = await done(change(role.id, { name: 'Peer', description: 'd', slug: `${role.slug}-2` }));
  assert.deepEqual(
    [changed.name, changed.description, changed.slug, changed.version],
    ['Peer', 'd', `${role.slug}-2`, 2],
  );
  assert.ok(changed.updatedAt >= role.updatedAt);
  const [, event] = await eventsOf(baton, role.id);
  assert.deepEqual(event && [event.type, event.payload], [
    'role.updated',
    { changes: { name: 'Peer', description: 'd', slug: changed.slug }, version: 2 },
  ]);
  assert.deepEqual(await done(change(role.id, { name: 'Peer' }, 2)), changed, 'equal values change nothing');
  assert.equal((await eventsOf(baton, role.id)).length, 2);
});

test('PATCH refuses null, an old version, a taken slug and an empty change, in that order', async () => {
  const [role, other] = [await makeRole(), await makeRole()];
  await refused(change(role.id, { name: null }), 422, 'invalid_field');
  await refused(change(newId(), {}), 404, 'not_found');
  const details = await refused(change(role.id, { slug: other.slug }, 7), 409, 'version_conflict');
  assert.deepEqual(details, {
    roleId: role.id,
    entity: 'role',
    id: role.id,
    expectedVersion: 7,
    currentVersion: 1,
  });
  const taken = await refused(change(role.id, { slug: other.slug }), 409, 'role_slug_conflict');
  assert.deepEqual(taken, { slug: other.slug });
  await refused(change(role.id, {}), 422, 'empty_update');
});

test('GET principals lists the holders of a role; with a workspace, only those to whom it applies there', async () => {
  const role = await makeRole();
  const above = await makeWorkspace();
  const below = await makeWorkspace({ parentId: above.id });
  const beside = await makeWorkspace({ parentId: above.id });
  const actors = [];
  for (const workspaceId of [null, above.id, below.id, beside.id]) {
    const actor = await baton.actor();
    await done(
      baton.admin.post(`/principals/${actor.principalId}/roles`, { roleId: role.id, workspaceId }),
      201,
    );
    actors.push(actor);
  }
  const [everywhere, inAbove, inBelow, inBeside] = actors.map(({ principalId }) => principalId);
  const idsOf = async (query: string) =>
    (await done(baton.admin.get(`/roles/${role.id}/principals${query}`))).items.map(
      ({ id }: { id: string }) => id,
    );
  assert.deepEqual(await idsOf(''), [inBeside, inBelow, inAbove, everywhere]);
  assert.deepEqual(await idsOf(`?workspaceId=${below.id}`), [inBelow, inAbove, everywhere]);
  assert.deepEqual(await idsOf(`?workspaceId=${above.id}`), [inAbove, everywhere]);
  const page = await done(baton.admin.get(`/roles/${role.id}/principals?limit=1`));
  const principal = await done(baton.admin.get(`/principals/${inBeside}`));
  const { id, kind, displayName, status } = principal;
  assert.deepEqual(page.items, [{ id, kind, displayName, status }]);
  assert.ok(page.nextCursor);
  await refused(baton.admin.get(`/roles/${newId()}/principals`), 404, 'not_found');
  await refused(baton.admin.get(`/roles/${role.id}/principals?workspaceId=${newId()}`), 404, 'not_found');
});
