import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { done, eventsOf, makeTask, refused } from '../../../testing/leases.ts';
import { makeProject, makeTemplate } from '../../../testing/organisation/projects.ts';
import { makeNarrowPerson } from '../../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let templateId: string;
before(async () => {
  baton = await startCoordination();
  templateId = (await makeTemplate(baton)).id;
});
after(() => baton.close());

const make = (more: object = {}) => makeProject(baton, { templateId, ...more });
const nameOf = (externalId: string) => ({ externalSystem: 'jira', externalType: 'project', externalId });
const put = (id: string, externalId: string, more: object = {}) =>
  baton.admin.post(`/projects/${id}/external-references`, { ...nameOf(externalId), ...more });

test('external names of a project are set by its own path and by /external-references', async () => {
  const { id } = await make();
  const first = await done(put(id, 'A-1', { metadata: { a: 1 } }), 201);
  assert.deepEqual([first.entityType, first.entityId, first.version], ['project', id, 1]);
  assert.deepEqual(
    await done(put(id, 'A-1', { metadata: { a: 1 } })),
    first,
    'equal metadata changes nothing',
  );
  const named = { entityType: 'project', entityId: id, ...nameOf('A-1'), metadata: {} };
  assert.equal((await done(baton.admin.post('/external-references', named))).version, 2);
  assert.equal((await done(put(id, 'A-1', { metadata: { b: 1 } }))).version, 3);
  const second = await done(baton.admin.post('/external-references', { ...named, externalId: 'A-2' }), 201);
  const { items } = await done(baton.admin.get(`/projects/${id}/external-references`));
  assert.deepEqual(
    items.map((item: any) => item.id),
    [second.id, first.id],
  );
  const byEntity = await done(baton.admin.get(`/external-references?entityType=project&entityId=${id}`));
  assert.deepEqual(byEntity.items, items);
  const query = new URLSearchParams(nameOf('A-2'));
  assert.deepEqual((await done(baton.admin.get(`/external-references?${query}`))).items, [second]);
  assert.equal((await baton.admin.delete(`/external-references/${second.id}`)).status, 204);
  const payload = (externalReferenceId: string, externalId: string) => ({
    externalReferenceId,
    ...nameOf(externalId),
  });
  assert.deepEqual(
    (await eventsOf(baton, id)).slice(1).map(({ type, payload: said }) => [type, said]),
    [
      ['project.external_reference_added', payload(first.id, 'A-1')],
      ['project.external_reference_updated', payload(first.id, 'A-1')],
      ['project.external_reference_updated', payload(first.id, 'A-1')],
      ['project.external_reference_added', payload(second.id, 'A-2')],
      ['project.external_reference_removed', payload(second.id, 'A-2')],
    ],
  );
});

test('an invalid name is refused, and so is a name that another object has', async () => {
  const { id } = await make();
  const task = await makeTask(baton);
  await done(
    baton.admin.post('/external-references', { entityType: 'task', entityId: task.id, ...nameOf('T-1') }),
    201,
  );
  assert.deepEqual(await refused(put(id, 'T-1'), 409, 'external_reference_conflict'), {
    entityType: 'task',
    entityId: task.id,
  });
  await refused(put(newId(), 'x'), 404, 'not_found');
  await refused(put(id, ' '), 422, 'invalid_external_reference');
  for (const [metadata, code] of [
    [[], 'invalid_document'],
    [{ a: 'x'.repeat(65_536) }, 'payload_too_large'],
    [{ password: 'x' }, 'secret_material_rejected'],
  ] as const)
    await refused(put(id, 'x', { metadata }), 422, code);
  let metadata: object = {};
  for (let level = 0; level < 30; level += 1) metadata = { metadata };
  await refused(put(id, 'x', { metadata }), 422, 'payload_too_deep');
  await refused(put(id, 'x', { entityType: 'task' }), 400, 'invalid_request');
  await refused(baton.admin.get(`/projects/${id}/external-references?cursor=x`), 422, 'invalid_cursor');
  const reader = await baton.actor({ permissions: ['tasks.read', 'tasks.write'] });
  const named = { entityType: 'project', entityId: id, ...nameOf('x') };
  assert.deepEqual(await refused(reader.post('/external-references', named), 403, 'permission_denied'), {
    required: ['projects.manage'],
  });
  const { id: referenceId } = await done(put(id, 'D-1'), 201);
  await refused(reader.delete(`/external-references/${referenceId}`), 403, 'permission_denied');
  const query = new URLSearchParams(nameOf('D-1'));
  assert.deepEqual((await done(reader.get(`/external-references?${query}`))).items, []);
});

test('GET /projects finds projects with a name, by system and id, optionally also by type', async () => {
  const [one, other] = [await make(), await make()];
  const externalId = `${newId()}/😀`;
  await done(put(one.id, externalId), 201);
  await done(put(other.id, externalId, { externalType: 'epic' }), 201);
  const find = async (more: object, by = baton.admin) => {
    const query = new URLSearchParams({ externalSystem: 'jira', externalId, ...more });
    return (await done(by.get(`/projects?${query}`))).items.map(({ id }: any) => id);
  };
  assert.deepEqual(await find({}), [other.id, one.id]);
  assert.deepEqual(await find({ externalType: 'epic' }), [other.id]);
  assert.deepEqual(await find({ externalType: 'x' }), []);
  assert.deepEqual(await find({ externalSystem: 'x' }), []);
  assert.deepEqual(await find({ status: 'archived' }), []);
  assert.deepEqual(await find({}, baton.otherAdmin), []);
});

test('names of an invisible project are neither found nor revealed by a conflict', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const [seen, hidden] = [await make({ workspaceId: mine.id }), await make({ workspaceId: other.id })];
  const reference = await done(put(hidden.id, 'H-1'), 201);
  const query = new URLSearchParams(nameOf('H-1'));
  assert.deepEqual((await done(person.get(`/external-references?${query}`))).items, []);
  const conflict = person.post(`/projects/${seen.id}/external-references`, nameOf('H-1'));
  assert.deepEqual(await refused(conflict, 409, 'external_reference_conflict'), {});
  await refused(person.delete(`/external-references/${reference.id}`), 404, 'not_found');
  await refused(
    person.get(`/external-references?entityType=project&entityId=${hidden.id}`),
    404,
    'not_found',
  );
});
