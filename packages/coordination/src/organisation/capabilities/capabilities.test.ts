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

let number = 0;
const makeCapability = (more: object = {}) =>
  done(baton.admin.post('/capabilities', { name: `german ${(number += 1)}`, ...more }), 201);
const change = (id: string, body: object, version = 1) =>
  baton.admin.patch(`/capabilities/${id}`, body, { 'if-match': `capability-${version}` });

test('POST returns 201 with the capability and writes capability.created; a name is unique', async () => {
  const { status, body, headers } = await baton.admin.post('/capabilities', {
    name: 'french',
    description: 'd',
  });
  assert.equal(status, 201);
  const { id, createdAt, updatedAt, ...rest } = body;
  assert.ok(createdAt && updatedAt);
  const facts = { name: 'french', description: 'd', version: 1, package: null };
  assert.deepEqual(rest, { tenantId: baton.tenantId, ...facts });
  assert.equal(headers.get('etag'), '"capability-1"');
  const [event] = await eventsOf(baton, id);
  assert.deepEqual(event && [event.type, event.payload], ['capability.created', { name: 'french' }]);
  const again = await refused(
    baton.admin.post('/capabilities', { name: 'french' }),
    409,
    'capability_exists',
  );
  assert.deepEqual(again, { name: 'french' });
  await done(baton.otherAdmin.post('/capabilities', { name: 'french' }), 201);
  for (const wrong of ['', 'n'.repeat(201)])
    await refused(baton.admin.post('/capabilities', { name: wrong }), 400, 'invalid_request');
});

test('GET returns one, and lists newest first; no package has any', async () => {
  const [first, second] = [await makeCapability(), await makeCapability()];
  const read = await baton.admin.get(`/capabilities/${first.id}`);
  assert.deepEqual([read.status, read.body, read.headers.get('etag')], [200, first, '"capability-1"']);
  await refused(baton.admin.get(`/capabilities/${newId()}`), 404, 'not_found');
  const page = await done(baton.admin.get('/capabilities?limit=1'));
  assert.deepEqual(page.items, [second]);
  const next = await done(baton.admin.get(`/capabilities?limit=1&cursor=${page.nextCursor}`));
  assert.deepEqual(next.items, [first]);
  assert.deepEqual((await done(baton.admin.get('/capabilities?package=x'))).items, []);
  await refused(baton.admin.get('/capabilities?cursor=nonsense'), 422, 'invalid_cursor');
});

test('PATCH changes name and description, raises the version and writes capability.updated', async () => {
  const capability = await makeCapability();
  const name = `${capability.name} and more`;
  const changed = await done(change(capability.id, { name, description: 'd' }));
  assert.deepEqual([changed.name, changed.description, changed.version], [name, 'd', 2]);
  const [, event] = await eventsOf(baton, capability.id);
  assert.deepEqual(event && [event.type, event.payload], [
    'capability.updated',
    { changes: { name, description: 'd' }, version: 2 },
  ]);
  assert.deepEqual(await done(change(capability.id, { name }, 2)), changed, 'equal values change nothing');
  assert.equal((await eventsOf(baton, capability.id)).length, 2);
});

test('PATCH refuses null, an old version, a taken name and an empty change', async () => {
  const [capability, other] = [await makeCapability(), await makeCapability()];
  await refused(change(capability.id, { description: null }), 422, 'invalid_field');
  await refused(change(newId(), { name: 'x' }), 404, 'not_found');
  const details = await refused(change(capability.id, { name: other.name }, 3), 409, 'version_conflict');
  assert.deepEqual([details.capabilityId, details.currentVersion], [capability.id, 1]);
  const taken = await refused(change(capability.id, { name: other.name }), 409, 'capability_exists');
  assert.deepEqual(taken, { name: other.name });
  await refused(change(capability.id, {}), 422, 'empty_update');
});
