import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { done, eventsOf, makeTask, refused } from '../../../testing/leases.ts';
import { makeWorkspace } from '../../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const nameOf = (externalId: string) => ({ externalSystem: 'tracker', externalType: 'issue', externalId });
const put = (entityId: string, externalId: string, more: object = {}) =>
  baton.admin.post('/external-references', {
    entityType: 'task',
    entityId,
    ...nameOf(externalId),
    ...more,
  });
const list = (query: object) =>
  baton.admin.get(`/external-references?${new URLSearchParams(query as Record<string, string>)}`);

test('POST returns 201 for a new name and writes the event on the task, without the metadata', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const task = await makeTask(baton, { workspaceId });
  const reference = await done(put(task.publicId, 'A-1', { metadata: { url: 'x' } }), 201);
  const { id, createdAt, updatedAt, ...rest } = reference;
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(rest, {
    tenantId: baton.tenantId,
    entityType: 'task',
    entityId: task.id,
    ...nameOf('A-1'),
    metadata: { url: 'x' },
    version: 1,
    createdBy: baton.admin.principalId,
  });
  const event = await baton.pool.row(sql`
    select type, schema_version, workspace_id, payload from events where entity_id = ${task.id} and type like '%reference%'`);
  assert.deepEqual(event, {
    type: 'task.external_reference_added',
    schema_version: 1,
    workspace_id: workspaceId,
    payload: { externalReferenceId: id, ...nameOf('A-1') },
  });
});

test('repeating a name returns 200: different metadata replaces the old, equal metadata changes nothing', async () => {
  const { id } = await makeTask(baton);
  const first = await done(put(id, 'B-1', { metadata: { a: 1, b: [1] } }), 201);
  assert.deepEqual(await done(put(id, 'B-1', { metadata: { b: [1], a: 1 } })), first);
  const second = await done(put(id, 'B-1', { metadata: { c: 2 } }));
  assert.deepEqual([second.id, second.version, second.metadata], [first.id, 2, { c: 2 }]);
  const types = (await eventsOf(baton, id)).slice(1).map(({ type }) => type);
  assert.deepEqual(types, ['task.external_reference_added', 'task.external_reference_updated']);
});

test('POST refuses in the documented order', async () => {
  const { id } = await makeTask(baton);
  const other = await makeTask(baton);
  await done(put(other.id, 'taken'), 201);
  const reader = await baton.actor({ permissions: ['tasks.read'] });
  const planner = await baton.actor({ permissions: ['projects.manage'] });
  const wrong = { entityType: 'task', entityId: 'none', ...nameOf(''), metadata: [] };
  const post = (body: object, actor = baton.admin) => actor.post('/external-references', body);
  for (const actor of [planner, reader])
    assert.deepEqual(await refused(post({ ...wrong, entityType: 'x' }, actor), 422, 'invalid_entity_type'), {
      supported: ['project', 'task'],
    });
  await refused(post(wrong, reader), 403, 'permission_denied');
  assert.deepEqual(await refused(post(wrong, planner), 403, 'permission_denied'), {
    required: ['tasks.write'],
  });
  await refused(post(wrong), 422, 'invalid_entity_reference');
  await refused(
    post({ ...wrong, entityType: 'project', entityId: 'TASK-000001' }),
    422,
    'invalid_entity_reference',
  );
  await refused(post({ ...wrong, entityType: 'project', entityId: newId() }), 404, 'not_found');
  await refused(post({ ...wrong, entityId: newId() }), 404, 'not_found');
  await refused(baton.otherAdmin.post('/external-references', { ...wrong, entityId: id }), 404, 'not_found');
  const bad = { ...wrong, entityId: id };
  assert.deepEqual(await refused(post(bad), 422, 'invalid_external_reference'), {
    field: 'externalId',
    maxLength: 512,
  });
  for (const field of ['externalSystem', 'externalType', 'externalId'])
    for (const text of ['', ' ', 'x'.repeat(513)])
      await refused(put(id, 'y', { [field]: text }), 422, 'invalid_external_reference');
  await refused(put(id, 'taken', { metadata: [] }), 422, 'invalid_document');
  await refused(put(id, 'taken', { metadata: { a: 'x'.repeat(65_536) } }), 422, 'payload_too_large');
  await refused(put(id, 'taken', { metadata: { password: 'x' } }), 422, 'secret_material_rejected');
  assert.deepEqual(await refused(put(id, 'taken'), 409, 'external_reference_conflict'), {
    entityType: 'task',
    entityId: other.id,
  });
});

test('a name is unique in a tenant by all three of its parts, of any length', async () => {
  const { id } = await makeTask(baton);
  const long = '😀'.repeat(512);
  const parts = { externalSystem: long, externalType: long, externalId: long };
  await done(put(id, '', parts), 201);
  await done(put(id, '', parts));
  await done(put(id, '', { ...parts, externalType: 'issue' }), 201);
  await done(put(id, 'ab', { externalType: 'c' }), 201);
  await done(put(id, 'b', { externalType: 'ca' }), 201);
  const body = { title: 'theirs' };
  const theirs = await done(baton.otherAdmin.post('/tasks', body), 201);
  const named = { entityType: 'task', entityId: theirs.id, ...parts };
  await done(baton.otherAdmin.post('/external-references', named), 201);
});

test('GET lists the names of a task newest first, and finds the object with a name', async () => {
  const task = await makeTask(baton);
  const [a, b] = [await done(put(task.id, 'L-1'), 201), await done(put(task.id, 'L-2'), 201)];
  const ids = async (query: object) => (await done(list(query))).items.map(({ id }: { id: string }) => id);
  const entity = { entityType: 'task', entityId: task.publicId };
  assert.deepEqual(await ids(entity), [b.id, a.id]);
  const page = await done(list({ ...entity, limit: 1 }));
  assert.deepEqual(await ids({ ...entity, limit: 1, cursor: page.nextCursor }), [a.id]);
  assert.deepEqual(await ids(nameOf('L-1')), [a.id]);
  assert.deepEqual(await ids(nameOf('L-3')), []);
  const { externalId: _, ...two } = nameOf('L-1');
  for (const query of [
    {},
    { entityType: 'task' },
    two,
    { ...entity, ...nameOf('L-1') },
    { ...entity, externalId: 'x' },
  ])
    await refused(list(query), 422, 'invalid_external_lookup');
  await refused(list({ entityType: 'x', entityId: task.id }), 422, 'invalid_entity_type');
  await refused(list({ entityType: 'task', entityId: 'x' }), 422, 'invalid_entity_reference');
  await refused(list({ entityType: 'task', entityId: newId() }), 404, 'not_found');
  await refused(list({ ...entity, cursor: 'x' }), 422, 'invalid_cursor');
  await refused(list({ ...nameOf('L-1'), cursor: 'x' }), 422, 'invalid_cursor');
});

test('a caller without tasks.read is refused by the first lookup, and finds nothing with the second', async () => {
  const task = await makeTask(baton);
  await done(put(task.id, 'P-1'), 201);
  const planner = await baton.actor({ permissions: ['projects.read'] });
  const query = new URLSearchParams(nameOf('P-1'));
  assert.deepEqual((await done(planner.get(`/external-references?${query}`))).items, []);
  assert.deepEqual(
    await refused(
      planner.get(`/external-references?entityType=task&entityId=${task.id}`),
      403,
      'permission_denied',
    ),
    { required: ['tasks.read'] },
  );
});

test('invisible objects are neither found nor revealed by a conflict', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const hidden = await makeTask(baton, { workspaceId });
  const reference = await done(put(hidden.id, 'H-1'), 201);
  const person = await baton.actor({ kind: 'human' });
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${person.principalId}`,
  );
  const query = new URLSearchParams(nameOf('H-1'));
  assert.deepEqual((await done(person.get(`/external-references?${query}`))).items, []);
  const own = await makeTask(baton);
  const body = { entityType: 'task', entityId: own.id, ...nameOf('H-1') };
  assert.deepEqual(
    await refused(person.post('/external-references', body), 409, 'external_reference_conflict'),
    {},
  );
  await refused(person.delete(`/external-references/${reference.id}`), 404, 'not_found');
});

test('DELETE returns 204 and writes the event; the name is free again', async () => {
  const [task, other] = [await makeTask(baton), await makeTask(baton)];
  const { id } = await done(put(task.id, 'D-1'), 201);
  const planner = await baton.actor({ permissions: ['projects.manage'] });
  const path = `/external-references/${id}`;
  assert.deepEqual(await refused(planner.delete(path), 403, 'permission_denied'), {
    required: ['tasks.write'],
  });
  await refused(baton.otherAdmin.delete(path), 404, 'not_found');
  assert.equal((await baton.admin.delete(path)).status, 204);
  assert.deepEqual(await refused(baton.admin.delete(path), 404, 'not_found'), { externalReferenceId: id });
  const event = (await eventsOf(baton, task.id)).at(-1);
  assert.deepEqual(
    [event?.type, event?.payload],
    ['task.external_reference_removed', { externalReferenceId: id, ...nameOf('D-1') }],
  );
  await done(put(other.id, 'D-1'), 201);
});

test('of two tasks that get the same name at once, one succeeds', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const [a, b] = [await makeTask(baton), await makeTask(baton)];
    const answers = await Promise.all([put(a.id, `R-${round}`), put(b.id, `R-${round}`)]);
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, 409], `round ${round}`);
  }
});

test('a name that is set and removed at once is in the state of its last event', async () => {
  const { id } = await makeTask(baton);
  const reference = await done(put(id, 'S-1'), 201);
  for (let round = 0; round < raceRounds; round += 1) {
    const standing = (await done(list(nameOf('S-1')))).items[0] ?? reference;
    await Promise.all([
      put(id, 'S-1', { metadata: { round } }),
      baton.admin.delete(`/external-references/${standing.id}`),
    ]);
    const types = (await eventsOf(baton, id)).map(({ type }) =>
      type.slice('task.external_reference_'.length),
    );
    const [added, removed] = ['added', 'removed'].map((kind) => types.filter((type) => type === kind).length);
    const { items } = await done(list(nameOf('S-1')));
    assert.equal(items.length, (added as number) - (removed as number), `round ${round}`);
  }
});
