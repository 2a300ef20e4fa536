import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const add = (workspaceId: string, principalId: string) =>
  baton.admin.post(`/workspaces/${workspaceId}/members`, { principalId });
const remove = (workspaceId: string, principalId: string) =>
  baton.admin.post(`/workspaces/${workspaceId}/members/${principalId}:remove`);

test('POST returns 201 with the membership, repeated with the same one, and writes one event', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const { principalId } = await baton.actor({ kind: 'human' });
  const member = await done(add(workspaceId, principalId), 201);
  const { id, createdAt, ...rest } = member;
  assert.ok(id && createdAt);
  assert.deepEqual(rest, { workspaceId, principalId });
  assert.deepEqual(await done(add(workspaceId, principalId), 201), member);
  const events = (await eventsOf(baton, workspaceId)).slice(1);
  assert.deepEqual(
    events.map(({ type, payload }) => [type, payload]),
    [['workspace.member_added', { principalId }]],
  );
});

test('POST refuses an unknown workspace, an archived one, an unknown principal, in this order', async () => {
  const { id } = await makeWorkspace(baton);
  await refused(add(newId(), newId()), 404, 'not_found').then((details) =>
    assert.deepEqual(Object.keys(details), ['workspaceId']),
  );
  const unknown = baton.otherAdmin.principalId;
  assert.deepEqual(await refused(add(id, unknown), 404, 'not_found'), { principalId: unknown });
  await done(baton.admin.post(`/workspaces/${id}:archive`));
  await refused(add(id, unknown), 422, 'workspace_archived');
});

test('removal returns 204, also when repeated and in an archived workspace, and writes one event', async () => {
  const { id } = await makeWorkspace(baton);
  const { principalId } = await baton.actor();
  await done(add(id, principalId), 201);
  await done(baton.admin.post(`/workspaces/${id}:archive`));
  for (const _ of [1, 2]) assert.equal((await remove(id, principalId)).status, 204);
  await refused(remove(newId(), principalId), 404, 'not_found');
  await refused(remove(id, newId()), 404, 'not_found');
  const events = await eventsOf(baton, id);
  const removed = events.filter(({ type }) => type === 'workspace.member_removed');
  assert.deepEqual(
    removed.map(({ payload }) => payload),
    [{ principalId }],
  );
});

test('GET lists members newest first, by pages', async () => {
  const { id } = await makeWorkspace(baton);
  const members: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    const { principalId } = await baton.actor();
    members.unshift((await done(add(id, principalId), 201)).id);
  }
  const path = `/workspaces/${id}/members`;
  const first = await done(baton.admin.get(`${path}?limit=2`));
  const second = await done(baton.admin.get(`${path}?limit=2&cursor=${first.nextCursor}`));
  const ids = [...first.items, ...second.items].map((member: { id: string }) => member.id);
  assert.deepEqual([ids, second.nextCursor], [members, null]);
  await refused(baton.admin.get(`/workspaces/${newId()}/members`), 404, 'not_found');
  await refused(baton.admin.get(`${path}?cursor=x`), 422, 'invalid_cursor');
});

test('a principal that is added and removed concurrently has one membership or none', async () => {
  const { id } = await makeWorkspace(baton);
  for (let round = 0; round < byDepth(20, 100); round += 1) {
    const { principalId } = await baton.actor();
    const answers = await Promise.all([
      add(id, principalId),
      remove(id, principalId),
      add(id, principalId),
      remove(id, principalId),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 204, 201, 204],
    );
    const { items } = await done(baton.admin.get(`/workspaces/${id}/members?limit=200`));
    const standing = items.filter((member: { principalId: string }) => member.principalId === principalId);
    const events = (await eventsOf(baton, id)).filter(
      ({ payload }) => payload['principalId'] === principalId,
    );
    const types = events.map(({ type }) => type);
    const expected = types.map((_, n) =>
      n % 2 === 0 ? 'workspace.member_added' : 'workspace.member_removed',
    );
    assert.deepEqual(types, expected, `round ${round}: the events alternate`);
    assert.equal(standing.length, types.length % 2, `round ${round}`);
  }
});
