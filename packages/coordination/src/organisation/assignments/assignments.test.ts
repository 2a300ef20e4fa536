import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const word = () => crypto.randomUUID().slice(0, 8);
const makeRole = () => done(baton.admin.post('/roles', { slug: `r-${word()}`, name: 'R' }), 201);
const makeCapability = () => done(baton.admin.post('/capabilities', { name: word() }), 201);
const makeSkill = () =>
  done(baton.admin.post('/skills', { name: word(), protocol: 'mcp', config: { queue: 'a' } }), 201);
const makeWorkspace = (more: object = {}) =>
  done(baton.admin.post('/workspaces', { slug: `w-${word()}`, name: 'W', ...more }), 201);
const eventsAbout = async (principalId: string) =>
  (await eventsOf(baton, principalId)).map(({ type, payload }) => [type, payload]);

/** Common properties of the three kinds of assignment. */
const kinds = [
  { kind: 'role', path: 'roles', make: makeRole, idField: 'roleId', own: { workspaceId: null } },
  {
    kind: 'capability',
    path: 'capabilities',
    make: makeCapability,
    idField: 'capabilityId',
    own: { metadata: {} },
  },
  { kind: 'skill', path: 'skills', make: makeSkill, idField: 'skillId', own: { metadata: {} } },
];

for (const { kind, path, make, idField, own } of kinds)
  describe(`assignments of a ${kind}`, () => {
    test('POST returns 201 with the whole record embedded; repeating it returns the same row without an event', async () => {
      const { principalId } = await baton.actor();
      const subject = await make();
      const give = () => baton.admin.post(`/principals/${principalId}/${path}`, { [idField]: subject.id });
      const given = await done(give(), 201);
      const { id, createdAt, ...rest } = given;
      assert.ok(id && createdAt);
      assert.deepEqual(rest, { principalId, [kind]: subject, ...own });
      assert.deepEqual(await done(give(), 201), given);
      const payload = { [idField]: subject.id, ...(kind === 'role' && { workspaceId: null }) };
      assert.deepEqual(await eventsAbout(principalId), [[`${kind}.assigned`, payload]]);
    });

    test('POST refuses an unknown principal and an unknown record', async () => {
      const { principalId } = await baton.actor();
      const subject = await make();
      const at = (principal: string) => `/principals/${principal}/${path}`;
      const unknown = await refused(baton.admin.post(at(newId()), { [idField]: newId() }), 404, 'not_found');
      assert.deepEqual(Object.keys(unknown), ['principalId']);
      const details = await refused(
        baton.admin.post(at(principalId), { [idField]: newId() }),
        404,
        'not_found',
      );
      assert.deepEqual(Object.keys(details), [idField]);
      const foreign = await refused(
        baton.otherAdmin.post(at(baton.otherAdmin.principalId), { [idField]: subject.id }),
        404,
        'not_found',
      );
      assert.deepEqual(Object.keys(foreign), [idField]);
    });

    test('GET lists all rows, newest first; with limit and cursor by pages', async () => {
      const { principalId } = await baton.actor();
      const given = [];
      for (let n = 0; n < 3; n += 1) {
        const body = { [idField]: (await make()).id };
        given.unshift(await done(baton.admin.post(`/principals/${principalId}/${path}`, body), 201));
      }
      const list = (query = '') => baton.admin.get(`/principals/${principalId}/${path}${query}`);
      assert.deepEqual(await done(list()), { items: given, nextCursor: null });
      const page = await done(list('?limit=2'));
      assert.deepEqual(page.items, given.slice(0, 2));
      const rest = await done(list(`?limit=2&cursor=${page.nextCursor}`));
      assert.deepEqual(rest, { items: given.slice(2), nextCursor: null });
      await refused(list('?limit=0'), 422, 'invalid_limit');
      await refused(list('?limit=201'), 422, 'invalid_limit');
      await refused(list('?limit=x'), 400, 'invalid_request');
      await refused(list('?cursor=nonsense'), 422, 'invalid_cursor');
      await refused(baton.admin.get(`/principals/${newId()}/${path}`), 404, 'not_found');
    });

    test('either org.read or principals.read reads them', async () => {
      const { principalId } = await baton.actor();
      for (const permission of ['org.read', 'principals.read'] as const) {
        const reader = await baton.actor({ permissions: [permission] });
        await done(reader.get(`/principals/${principalId}/${path}`));
      }
      const nobody = await baton.actor({ permissions: ['tasks.read'] });
      await refused(nobody.get(`/principals/${principalId}/${path}`), 403, 'permission_denied');
    });

    test(':revoke returns 204 and writes the event; repeated, only 204; an unknown record returns 404', async () => {
      const { principalId } = await baton.actor();
      const subject = await make();
      const body = { [idField]: subject.id };
      await done(baton.admin.post(`/principals/${principalId}/${path}`, body), 201);
      const revoke = (principal = principalId, id = subject.id) =>
        baton.admin.post(`/principals/${principal}/${path}/${id}:revoke`);
      await done(revoke(), 204);
      await done(revoke(), 204);
      await refused(revoke(principalId, newId()), 404, 'not_found');
      await refused(revoke(newId()), 404, 'not_found');
      const payload = { ...body, ...(kind === 'role' && { workspaceId: null }) };
      assert.deepEqual((await eventsAbout(principalId)).slice(1), [[`${kind}.revoked`, payload]]);
      assert.deepEqual((await done(baton.admin.get(`/principals/${principalId}/${path}`))).items, []);
    });
  });

test('a role is assigned and revoked per workspace', async () => {
  const { principalId } = await baton.actor();
  const [role, workspace] = [await makeRole(), await makeWorkspace()];
  const at = `/principals/${principalId}/roles`;
  const inTenant = await done(baton.admin.post(at, { roleId: role.id }), 201);
  const inWorkspace = await done(baton.admin.post(at, { roleId: role.id, workspaceId: workspace.id }), 201);
  assert.equal(inWorkspace.workspaceId, workspace.id);
  await done(baton.admin.post(`${at}/${role.id}:revoke`, { workspaceId: workspace.id }), 204);
  assert.deepEqual((await done(baton.admin.get(at))).items, [inTenant]);
  const about = { roleId: role.id, workspaceId: workspace.id };
  assert.deepEqual((await eventsAbout(principalId)).slice(1), [
    ['role.assigned', about],
    ['role.revoked', about],
  ]);
});

test('an unknown workspace returns 404, an archived one 422', async () => {
  const { principalId } = await baton.actor();
  const [role, workspace] = [await makeRole(), await makeWorkspace()];
  const give = (workspaceId: string) =>
    baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id, workspaceId });
  await refused(give(newId()), 404, 'not_found');
  await baton.pool.run(sql`update workspaces set status = 'archived' where id = ${workspace.id}`);
  await refused(give(workspace.id), 422, 'workspace_archived');
});

test('metadata of capabilities and skills is a guarded document', async () => {
  const { principalId } = await baton.actor();
  const [capability, skill] = [await makeCapability(), await makeSkill()];
  for (const [path, ids] of [
    ['capabilities', { capabilityId: capability.id }],
    ['skills', { skillId: skill.id }],
  ] as const) {
    const give = (metadata: unknown) =>
      baton.admin.post(`/principals/${principalId}/${path}`, { ...ids, metadata });
    await refused(give([]), 422, 'invalid_document');
    await refused(give({ password: 'x' }), 422, 'secret_material_rejected');
    await refused(give({ a: 'x'.repeat(70_000) }), 422, 'payload_too_large');
    let deep: object = {};
    for (let level = 0; level < 21; level += 1) deep = { deep };
    await refused(give(deep), 422, 'payload_too_deep');
    assert.deepEqual((await done(give({ level: 'C1' }), 201)).metadata, { level: 'C1' });
  }
});

test('a disabled skill is not assigned; readers without org.read see no config of skills', async () => {
  const { principalId } = await baton.actor();
  const [skill, disabled] = [await makeSkill(), await makeSkill()];
  await done(baton.admin.patch(`/skills/${disabled.id}`, { status: 'disabled' }, { 'if-match': 'skill-1' }));
  const give = (skillId: string) => baton.admin.post(`/principals/${principalId}/skills`, { skillId });
  assert.deepEqual(await refused(give(disabled.id), 422, 'skill_disabled'), { skillId: disabled.id });
  await done(give(skill.id), 201);
  const reader = await baton.actor({ permissions: ['principals.read'] });
  const { items } = await done(reader.get(`/principals/${principalId}/skills`));
  assert.deepEqual(items[0].skill, { ...skill, config: {} });
});
