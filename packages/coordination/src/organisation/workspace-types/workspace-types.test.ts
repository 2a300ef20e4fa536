import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const create = (more: object = {}) =>
  baton.admin.post('/workspace-types', { key: `t${newId()}`, displayName: 'Team', ...more });
const make = (more: object = {}) => done(create(more), 201);
const change = (id: string, version: number, body: object) =>
  baton.admin.patch(`/workspace-types/${id}`, body, { 'if-match': `workspace_type-${version}` });
const system = async () =>
  (await done(baton.admin.get('/workspace-types?limit=200'))).items.find(
    ({ isSystem }: { isSystem: boolean }) => isSystem,
  );

test('POST returns 201 with the type and writes workspace_type.created', async () => {
  const answer = await create({ key: 'dept_1', description: 'People', allowedChildTypes: ['team', 'team'] });
  assert.deepEqual([answer.status, answer.headers.get('etag')], [201, '"workspace_type-1"']);
  const { id, createdAt, updatedAt, ...rest } = answer.body;
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(rest, {
    tenantId: baton.tenantId,
    key: 'dept_1',
    displayName: 'Team',
    description: 'People',
    fieldSchema: {},
    allowedChildTypes: ['team'],
    isSystem: false,
    status: 'active',
    version: 1,
    package: null,
  });
  const [event] = await eventsOf(baton, id);
  assert.deepEqual(
    [event?.type, event?.schema_version, event?.payload],
    ['workspace_type.created', 1, { key: 'dept_1', displayName: 'Team', allowedChildTypes: ['team'] }],
  );
});

test('a new tenant has one system type with the key generic, which accepts any child', async () => {
  const type = await system();
  assert.deepEqual(
    [type.key, type.isSystem, type.allowedChildTypes, type.status],
    ['generic', true, ['*'], 'active'],
  );
  assert.deepEqual((await make()).allowedChildTypes, ['*']);
});

test('the system type keeps * and is not archived: 422 system_type_immutable', async () => {
  const type = await system();
  await refused(change(type.id, type.version, { allowedChildTypes: ['team'] }), 422, 'system_type_immutable');
  await refused(baton.admin.post(`/workspace-types/${type.id}:archive`), 422, 'system_type_immutable');
  const renamed = await done(change(type.id, type.version, { displayName: 'Any' }));
  assert.equal(renamed.displayName, 'Any');
});

test('a key is unique in a tenant, also among archived types: 409 workspace_type_exists', async () => {
  const { id, key } = await make();
  await done(baton.admin.post(`/workspace-types/${id}:archive`));
  assert.deepEqual(await refused(create({ key }), 409, 'workspace_type_exists'), { key });
  assert.equal((await baton.otherAdmin.post('/workspace-types', { key, displayName: 'T' })).status, 201);
});

test('a malformed key or name returns 400, malformed child types return 422 invalid_workspace_type', async () => {
  for (const body of [{ key: '-a' }, { key: 'A' }, { key: '' }, { key: 'a'.repeat(64) }, { displayName: '' }])
    await refused(create(body), 400, 'invalid_request');
  const many = Array.from({ length: 101 }, (_, n) => `t${n}`);
  assert.deepEqual(await refused(create({ allowedChildTypes: many }), 422, 'invalid_workspace_type'), {
    field: 'allowedChildTypes',
    maxItems: 100,
  });
  for (const wrong of ['', 'a'.repeat(64), 'Team'])
    assert.deepEqual(
      await refused(create({ allowedChildTypes: ['a', wrong] }), 422, 'invalid_workspace_type'),
      { field: 'allowedChildTypes[1]' },
    );
  assert.equal((await make({ allowedChildTypes: [] })).allowedChildTypes.length, 0);
});

test('a field schema is a JSON Schema of bounded size: 422 invalid_document, payload_too_large, invalid_json_schema', async () => {
  assert.deepEqual(await refused(create({ fieldSchema: [] }), 422, 'invalid_document'), {
    field: 'fieldSchema',
  });
  const large = { description: 'x'.repeat(65_536) };
  await refused(create({ fieldSchema: large }), 422, 'payload_too_large');
  const { path } = await refused(create({ fieldSchema: { type: 'zebra' } }), 422, 'invalid_json_schema');
  assert.equal(path, '/type');
  const remote = { fieldSchema: { $ref: 'https://example.com/x' }, allowedChildTypes: [''] };
  await refused(create(remote), 422, 'invalid_json_schema');
  const { id } = await make({ fieldSchema: { type: 'object' } });
  await refused(change(id, 1, { fieldSchema: { type: 'zebra' } }), 422, 'invalid_json_schema');
  await done(change(id, 1, { fieldSchema: { maxProperties: 1 } }));
  const events = await eventsOf(baton, id);
  assert.deepEqual(events.at(-1)?.payload, { changes: { fieldSchema: true }, version: 2 });
});

test('PATCH changes the given fields once: the event contains the values', async () => {
  const { id } = await make();
  const body = { displayName: 'Squad', description: 'Few', allowedChildTypes: ['a'] };
  const changed = await done(change(id, 1, body));
  assert.deepEqual([changed.version, changed.displayName, changed.description], [2, 'Squad', 'Few']);
  assert.deepEqual(await done(change(id, 2, body)), changed, 'equal values change nothing');
  const events = await eventsOf(baton, id);
  assert.deepEqual(events.at(-1)?.payload, { changes: body, version: 2 });
  assert.equal(events.length, 2);
});

test('PATCH refuses an old version, a null, and no field at all', async () => {
  const { id } = await make();
  assert.deepEqual(await refused(change(id, 7, { displayName: 'x' }), 409, 'version_conflict'), {
    workspaceTypeId: id,
    entity: 'workspace_type',
    id,
    expectedVersion: 7,
    currentVersion: 1,
  });
  for (const field of ['displayName', 'description', 'fieldSchema', 'allowedChildTypes'])
    assert.deepEqual(await refused(change(id, 1, { [field]: null }), 422, 'invalid_field'), { field });
  await refused(change(id, 1, {}), 422, 'empty_update');
  await refused(change(id, 1, { key: 'new' }), 400, 'invalid_request');
  await refused(change(id, 1, { allowedChildTypes: [''] }), 422, 'invalid_workspace_type');
});

test('an archived type can be changed too', async () => {
  const { id } = await make();
  const archived = await done(baton.admin.post(`/workspace-types/${id}:archive`));
  assert.equal((await done(change(id, archived.version, { displayName: 'Old' }))).status, 'archived');
});

test('repeated archive and restore return 200 without an event', async () => {
  const { id, key } = await make();
  for (const [action, status, version] of [
    ['archive', 'archived', 2],
    ['restore', 'active', 3],
  ])
    for (const _ of [1, 2]) {
      const type = await done(baton.admin.post(`/workspace-types/${id}:${action}`));
      assert.deepEqual([type.status, type.version], [status, version]);
    }
  const events = (await eventsOf(baton, id)).slice(1);
  assert.deepEqual(
    events.map(({ type, payload }) => [type, payload]),
    [
      ['workspace_type.archived', { key }],
      ['workspace_type.restored', { key }],
    ],
  );
});

test('a type of an active workspace is not archived: 422 workspace_type_in_use', async () => {
  const { id } = await make();
  const { id: workspaceId } = await done(
    baton.admin.post('/workspaces', { slug: `w${newId()}`, name: 'W', typeId: id }),
    201,
  );
  assert.deepEqual(
    await refused(baton.admin.post(`/workspace-types/${id}:archive`), 422, 'workspace_type_in_use'),
    { workspaceTypeId: id, activeWorkspaces: 1 },
  );
  await done(baton.admin.post(`/workspaces/${workspaceId}:archive`));
  await done(baton.admin.post(`/workspace-types/${id}:archive`));
});

test('GET lists newest first, by status and by package', async () => {
  const [first, second] = [await make(), await make()];
  await done(baton.admin.post(`/workspace-types/${second.id}:archive`));
  const list = async (query: string) =>
    (await done(baton.admin.get(`/workspace-types?${query}`))).items.map(({ id }: { id: string }) => id);
  const newest = await list('limit=2');
  assert.deepEqual(newest, [second.id, first.id]);
  assert.equal((await list('status=archived&limit=1'))[0], second.id);
  assert.equal((await list('status=active&limit=1'))[0], first.id);
  assert.deepEqual(await list('package=none'), []);
  assert.deepEqual(await refused(baton.admin.get('/workspace-types?status=gone'), 422, 'invalid_status'), {
    allowed: ['active', 'archived'],
  });
  await refused(baton.admin.get('/workspace-types?cursor=x'), 422, 'invalid_cursor');
});
