import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/kernel/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { insertTestType } from '../../testing/task-type.ts';
import { systemLifecycle } from './system-type.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const list = (query = '', by = baton.admin) => by.get(`/task-types?${query}`);

test('every tenant has the type task in version 1, with the system lifecycle', async () => {
  const { items, nextCursor } = await done(list('', baton.otherAdmin));
  assert.equal(nextCursor, null);
  const [{ id, createdAt, updatedAt, ...type }, ...more] = items;
  assert.equal(more.length, 0);
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(type, {
    tenantId: baton.otherTenantId,
    key: 'task',
    version: 1,
    displayName: 'Task',
    description: '',
    fieldSchema: {},
    lifecycleSchema: systemLifecycle,
    execution: null,
    approvalSchema: {},
    contextSchema: {},
    completionSchema: {},
    artifactSchema: {},
    instructions: '',
    acceptance: [],
    status: 'active',
    createdBy: baton.otherAdmin.principalId,
  });
  assert.deepEqual(await done(baton.otherAdmin.get(`/task-types/${id}`)), items[0]);
});

test('lists newest first by pages, narrowed by key and status', async () => {
  for (const version of [1, 2, 3])
    await insertTestType(baton, { key: 'build', version, status: version === 1 ? 'deprecated' : 'active' });
  const versionsOf = async (query: string) =>
    (await done(list(query))).items.map(({ version }: { version: number }) => version);
  assert.deepEqual(await versionsOf('key=build'), [3, 2, 1]);
  assert.deepEqual(await versionsOf('key=build&status=active'), [3, 2]);
  assert.deepEqual(await versionsOf('status=deprecated'), [1]);
  assert.deepEqual(await versionsOf('key=unheard-of'), []);
  const first = await done(list('key=build&limit=2'));
  assert.equal(first.items.length, 2);
  assert.deepEqual(await versionsOf(`key=build&limit=2&cursor=${first.nextCursor}`), [1]);
});

test('an unknown status and a foreign cursor are refused', async () => {
  assert.deepEqual(await refused(list('status=retired'), 422, 'invalid_status'), {
    allowed: ['active', 'deprecated'],
  });
  await done(baton.admin.post('/tasks', { title: 'x' }), 201);
  await done(baton.admin.post('/tasks', { title: 'y' }), 201);
  const { nextCursor } = await done(baton.admin.get('/tasks?limit=1'));
  await refused(list(`cursor=${nextCursor}`), 422, 'invalid_cursor');
});

test('an unknown type is 404, also one of another tenant', async () => {
  const [{ id }] = (await done(list('', baton.otherAdmin))).items;
  for (const absent of [newId(), id])
    await refused(baton.admin.get(`/task-types/${absent}`), 404, 'not_found');
});
