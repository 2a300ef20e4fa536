import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { changeWorkspace, makeWorkspace, makeWorkspaceType } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const make = (more: object = {}) => makeWorkspace(baton, more);
const makeType = (more: object = {}) => makeWorkspaceType(baton, more);
const change = (id: string, version: number, body: object) => changeWorkspace(baton, id, version, body);
const create = (more: object = {}) =>
  baton.admin.post('/workspaces', { slug: `w${newId()}`, name: 'Platform', ...more });
const act = (id: string, action: string) => baton.admin.post(`/workspaces/${id}:${action}`);

test('POST returns 201 with the workspace and writes workspace.created in it', async () => {
  const parent = await make();
  const answer = await create({
    slug: 'team-1',
    description: 'D',
    parentId: parent.id,
    customFields: { a: 1 },
  });
  assert.deepEqual([answer.status, answer.headers.get('etag')], [201, '"workspace-1"']);
  const { id, createdAt, updatedAt, typeId, ...rest } = answer.body;
  assert.deepEqual([createdAt, typeId], [updatedAt, parent.typeId]);
  assert.deepEqual(rest, {
    tenantId: baton.tenantId,
    parentId: parent.id,
    slug: 'team-1',
    name: 'Platform',
    description: 'D',
    customFields: { a: 1 },
    taskTypes: null,
    status: 'active',
    version: 1,
    calendarKey: null,
    effectiveTaskTypes: null,
  });
  const [event] = await eventsOf(baton, id);
  assert.deepEqual(
    [event?.type, event?.schema_version, event?.payload],
    ['workspace.created', 1, { slug: 'team-1', name: 'Platform', parentId: parent.id, typeKey: 'generic' }],
  );
  await journalIsStable(baton.pool);
  const { items } = await done(baton.admin.get(`/events?entityId=${id}`));
  assert.deepEqual([items[0].entityType, items[0].workspaceId], ['workspace', id]);
  const read = await baton.admin.get(`/workspaces/${id}`);
  assert.deepEqual([read.body, read.headers.get('etag')], [answer.body, '"workspace-1"']);
});

test('a malformed slug or name returns 400', async () => {
  for (const body of [{ slug: 'a' }, { slug: '-ab' }, { slug: 'Ab' }, { slug: 'a'.repeat(64) }, { name: '' }])
    await refused(create(body), 400, 'invalid_request');
  await refused(create({ taskTypes: [] }), 400, 'invalid_request');
});

test('a slug is unique among siblings, also archived ones: 409 workspace_slug_conflict', async () => {
  const [a, b] = [await make(), await make()];
  const slug = 'same';
  const child = await make({ parentId: a.id, slug });
  await done(act(child.id, 'archive'));
  assert.deepEqual(await refused(create({ parentId: a.id, slug }), 409, 'workspace_slug_conflict'), { slug });
  await make({ parentId: b.id, slug });
  await make({ slug });
  await refused(create({ slug }), 409, 'workspace_slug_conflict');
  await done(baton.otherAdmin.post('/workspaces', { slug, name: 'x' }), 201);
});

test('POST checks in the documented order', async () => {
  const parentType = await makeType({ allowedChildTypes: ['none'] });
  const archivedType = await makeType();
  await done(baton.admin.post(`/workspace-types/${archivedType.id}:archive`));
  const parent = await make({ typeId: parentType.id });
  const taken = await makeWorkspace(baton, { slug: 'taken' });
  const archived = await make();
  await done(act(archived.id, 'archive'));
  const wrong = { slug: 'taken', typeId: newId(), customFields: [] };
  assert.deepEqual(
    await refused(create({ ...wrong, parentId: newId() }), 404, 'not_found').then(Object.keys),
    ['workspaceId'],
  );
  assert.deepEqual(await refused(create({ ...wrong, parentId: archived.id }), 422, 'workspace_archived'), {
    workspaceId: archived.id,
  });
  await refused(create(wrong), 409, 'workspace_slug_conflict');
  const below = { ...wrong, parentId: parent.id };
  await refused(create({ ...below, typeKey: 'generic' }), 422, 'invalid_workspace_type');
  await refused(create(below), 404, 'not_found');
  await refused(create({ ...below, typeId: null, typeKey: 'none' }), 404, 'not_found');
  await refused(create({ ...below, typeId: archivedType.id }), 422, 'workspace_type_archived');
  assert.deepEqual(
    await refused(create({ ...below, typeId: null, typeKey: 'generic' }), 422, 'child_type_not_allowed'),
    { parentTypeKey: parentType.key, childTypeKey: 'generic', allowedChildTypes: ['none'] },
  );
  await refused(create({ ...wrong, slug: 'free', typeId: null }), 422, 'invalid_document');
  await refused(create({ customFields: { apiKey: 'x' } }), 422, 'secret_material_rejected');
  assert.equal(taken.slug, 'taken');
});

test('custom fields must match the schema of the type: in POST, in PATCH, and when only the type changes', async () => {
  const fieldSchema = { properties: { seats: { type: 'integer' } }, required: ['seats'] };
  const type = await makeType({ fieldSchema });
  const typeId = type.id;
  const { errors } = await refused(create({ typeId, customFields: {} }), 422, 'custom_fields_invalid');
  assert.equal(errors.length, 1);
  await refused(create({ typeId, customFields: { seats: 'x', apiKey: 1 } }), 422, 'custom_fields_invalid');
  await refused(create({ typeId, customFields: { seats: 1, apiKey: 1 } }), 422, 'secret_material_rejected');
  const { id } = await make({ typeId, customFields: { seats: 1 } });
  await refused(change(id, 1, { customFields: { seats: 'many' } }), 422, 'custom_fields_invalid');
  const free = await make();
  await refused(change(free.id, 1, { typeId }), 422, 'custom_fields_invalid');
  assert.equal((await done(change(free.id, 1, { typeId, customFields: { seats: 2 } }))).typeId, typeId);
  const narrower = { fieldSchema: { maxProperties: 0 } };
  await done(baton.admin.patch(`/workspace-types/${typeId}`, narrower, { 'if-match': 'workspace_type-1' }));
  assert.equal(
    (await done(change(id, 1, { name: 'kept' }))).name,
    'kept',
    'existing values are not validated again',
  );
});

test('a tree has at most 64 levels: 422 workspace_too_deep', async () => {
  let parentId: string | null = null;
  for (let level = 0; level < 64; level += 1)
    ({ id: parentId } = await make({ parentId, slug: 'level' + level }));
  assert.deepEqual(await refused(create({ parentId }), 422, 'workspace_too_deep'), { maxLevels: 64 });
});

test('GET lists newest first: all, the roots, the children of one, by status', async () => {
  const root = await make();
  const [a, b] = [await make({ parentId: root.id }), await make({ parentId: root.id })];
  await done(act(b.id, 'archive'));
  const list = async (query: string) =>
    (await done(baton.admin.get(`/workspaces?${query}`))).items.map(({ id }: { id: string }) => id);
  assert.deepEqual(await list('limit=3'), [b.id, a.id, root.id]);
  assert.equal((await list('rootsOnly=true'))[0], root.id);
  assert.deepEqual(await list(`parentId=${root.id}`), [b.id, a.id]);
  assert.deepEqual(await list(`parentId=${root.id}&rootsOnly=true`), [b.id, a.id], 'parentId wins');
  assert.deepEqual(await list(`parentId=${root.id}&status=archived`), [b.id]);
  assert.deepEqual(await list(`parentId=${newId()}`), []);
  const { items, nextCursor } = await done(baton.admin.get(`/workspaces?parentId=${root.id}&limit=1`));
  assert.equal('effectiveTaskTypes' in items[0], false);
  assert.deepEqual(await list(`parentId=${root.id}&limit=1&cursor=${nextCursor}`), [a.id]);
  assert.deepEqual(await refused(baton.admin.get('/workspaces?status=gone'), 422, 'invalid_status'), {
    allowed: ['active', 'archived'],
  });
  await refused(baton.admin.get('/workspaces?cursor=x'), 422, 'invalid_cursor');
});

test('PATCH changes the given fields; the event contains the values, but only the names of documents', async () => {
  const [parentType, type] = [await makeType(), await makeType()];
  const parent = await make({ typeId: parentType.id });
  const { id } = await make({ parentId: parent.id });
  const body = {
    name: 'New',
    description: 'D',
    slug: 'new-slug',
    typeKey: type.key,
    customFields: { b: 2 },
    taskTypes: ['task'],
  };
  const changed = await done(change(id, 1, body));
  assert.deepEqual(
    [changed.version, changed.typeId, changed.customFields, changed.effectiveTaskTypes],
    [2, type.id, { b: 2 }, ['task']],
  );
  assert.deepEqual(await done(change(id, 2, body)), changed, 'equal values change nothing');
  const events = await eventsOf(baton, id);
  const { typeKey: _, ...values } = body;
  assert.equal(events.length, 2);
  assert.deepEqual(
    [events[1]?.schema_version, events[1]?.payload],
    [2, { changes: { ...values, typeId: type.id, customFields: true, taskTypes: true }, version: 2 }],
  );
});

test('PATCH checks in the documented order', async () => {
  const children = await makeType();
  const [parentType, selfType] = [
    await makeType({ allowedChildTypes: ['generic', children.key] }),
    await makeType({ allowedChildTypes: ['none'] }),
  ];
  const archivedType = await makeType();
  await done(baton.admin.post(`/workspace-types/${archivedType.id}:archive`));
  const parent = await make({ typeId: parentType.id });
  const { id } = await make({ parentId: parent.id });
  await make({ parentId: parent.id, slug: 'taken' });
  const wrong = { slug: 'taken', typeId: archivedType.id, customFields: [], taskTypes: ['none'] };
  await refused(change(newId(), 1, wrong), 404, 'not_found');
  assert.deepEqual(await refused(change(id, 3, wrong), 409, 'version_conflict'), {
    workspaceId: id,
    entity: 'workspace',
    id,
    expectedVersion: 3,
    currentVersion: 1,
  });
  await refused(change(id, 1, wrong), 409, 'workspace_slug_conflict');
  const typed = { ...wrong, slug: 'free' };
  await refused(change(id, 1, { ...typed, typeKey: 'generic' }), 422, 'invalid_workspace_type');
  await refused(change(id, 1, { ...typed, typeId: newId() }), 404, 'not_found');
  await refused(change(id, 1, typed), 422, 'workspace_type_archived');
  assert.deepEqual(
    await refused(change(id, 1, { ...typed, typeId: selfType.id }), 422, 'child_type_not_allowed'),
    {
      parentTypeKey: parentType.key,
      childTypeKey: selfType.key,
      allowedChildTypes: ['generic', children.key],
    },
  );
  const root = await make();
  const child = await make({ parentId: root.id, typeId: children.id });
  assert.deepEqual(
    await refused(change(root.id, 1, { ...typed, typeId: selfType.id }), 422, 'child_type_not_allowed'),
    { parentTypeKey: selfType.key, childTypeKey: children.key, allowedChildTypes: ['none'] },
  );
  await done(act(child.id, 'archive'));
  await refused(change(root.id, 1, { ...typed, typeId: selfType.id }), 422, 'invalid_document');
  assert.deepEqual(await refused(change(id, 1, { taskTypes: ['task', 'none'] }), 422, 'unknown_task_type'), {
    field: 'taskTypes[1]',
    taskType: 'none',
  });
  await refused(change(id, 1, {}), 422, 'empty_update');
  for (const field of ['name', 'description', 'slug', 'typeId', 'typeKey', 'customFields'])
    assert.deepEqual(await refused(change(id, 1, { [field]: null }), 422, 'invalid_field'), { field });
  await refused(change(id, 1, { taskTypes: ['task', 'task'] }), 400, 'invalid_request');
});

test('effectiveTaskTypes is the own list, or that of the nearest ancestor with one, or null', async () => {
  await insertTestType(baton, { key: 'bug' });
  const root = await make();
  const middle = await make({ parentId: root.id });
  const leaf = await make({ parentId: middle.id });
  const effective = async (id: string) =>
    (await done(baton.admin.get(`/workspaces/${id}`))).effectiveTaskTypes;
  await done(change(root.id, 1, { taskTypes: ['bug'] }));
  assert.deepEqual(await effective(leaf.id), ['bug']);
  await done(change(middle.id, 1, { taskTypes: [] }));
  assert.deepEqual([await effective(middle.id), await effective(leaf.id)], [[], []]);
  await done(change(leaf.id, 1, { taskTypes: ['task', 'bug'] }));
  assert.deepEqual(await effective(leaf.id), ['task', 'bug']);
  await done(change(leaf.id, 2, { taskTypes: null }));
  await done(change(middle.id, 2, { taskTypes: null }));
  await done(change(root.id, 2, { taskTypes: null }));
  assert.equal(await effective(leaf.id), null);
});

test('a workspace with an active child is not archived: 422 workspace_has_active_children', async () => {
  const root = await make();
  const child = await make({ parentId: root.id });
  assert.deepEqual(await refused(act(root.id, 'archive'), 422, 'workspace_has_active_children'), {
    workspaceId: root.id,
    activeChildren: 1,
  });
  await done(act(child.id, 'archive'));
  assert.equal((await done(act(root.id, 'archive'))).status, 'archived');
});

test('repeated archive and restore return 200 without an event; an archived workspace can be changed too', async () => {
  const { id, slug } = await make();
  for (const [action, status, version] of [
    ['archive', 'archived', 2],
    ['restore', 'active', 3],
  ] as const)
    for (const _ of [1, 2]) {
      const workspace = await done(act(id, action));
      assert.deepEqual([workspace.status, workspace.version], [status, version]);
    }
  const events = (await eventsOf(baton, id)).slice(1);
  assert.deepEqual(
    events.map(({ type, payload }) => [type, payload]),
    [
      ['workspace.archived', { slug }],
      ['workspace.restored', { slug }],
    ],
  );
  await done(act(id, 'archive'));
  assert.equal((await done(change(id, 4, { name: 'Old' }))).status, 'archived');
});

test('restore refuses a workspace below an archived one, and one of an archived type', async () => {
  const type = await makeType();
  const root = await make();
  const child = await make({ parentId: root.id, typeId: type.id });
  await done(act(child.id, 'archive'));
  await done(act(root.id, 'archive'));
  await done(baton.admin.post(`/workspace-types/${type.id}:archive`));
  assert.deepEqual(await refused(act(child.id, 'restore'), 422, 'workspace_archived'), {
    workspaceId: root.id,
  });
  await done(act(root.id, 'restore'));
  assert.deepEqual(await refused(act(child.id, 'restore'), 422, 'workspace_type_archived'), {
    workspaceTypeId: type.id,
  });
  await done(baton.admin.post(`/workspace-types/${type.id}:restore`));
  await done(act(child.id, 'restore'));
});
