import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { setAccess } from '../../testing/access/set-access.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';

let baton: TestCoordination;
let admin: Actor;
before(async () => {
  baton = await startCoordination({ CP_LEGACY_API_KEYS_ENABLED: 'true' });
  admin = baton.admin;
});
after(() => baton.close());

async function person(id: string) {
  const { status, body } = await admin.get('/people?limit=200');
  assert.equal(status, 200);
  return body.items.find((one: { id: string }) => one.id === id);
}

test('a person is listed with role, permissions and the identity that joins the record of identity', async () => {
  const actor = await baton.actor({ kind: 'human', permissions: ['tasks.read'] });
  await setAccess(admin, actor.principalId, { accessRole: 'viewer' });
  await admin.patch(
    `/principals/${actor.principalId}`,
    { displayName: 'Maria Lopez', profile: { email: 'maria@example.com' } },
    { 'if-match': '"principal-1"' },
  );
  const { body: viewer } = await admin.get('/access-roles/viewer');
  const listed = await person(actor.principalId);
  const [identity] = listed.identities;
  assert.deepEqual(
    { ...listed, createdAt: undefined },
    {
      id: actor.principalId,
      kind: 'human',
      displayName: 'Maria Lopez',
      status: 'active',
      email: 'maria@example.com',
      agent: null,
      accessRole: 'viewer',
      permissions: viewer.permissions,
      identities: [
        {
          bindingId: identity.bindingId,
          issuer: baton.issuer.issuer,
          iamTenantId: identity.iamTenantId,
          iamPrincipalId: actor.iamPrincipalId,
          status: 'active',
          lastUsedAt: null,
        },
      ],
      formerIamPrincipalIds: [],
      liveApiKeys: 0,
      lastUsedAt: null,
      createdAt: undefined,
    },
  );
  await actor.get('/tasks');
  const used = await person(actor.principalId);
  assert.notEqual(used.lastUsedAt, null);
  assert.equal(used.identities[0].lastUsedAt, used.lastUsedAt);
});

test('one is read by its id; other tenants do not see it', async () => {
  const actor = await baton.actor({ kind: 'agent' });
  const { status, body } = await admin.get(`/people/${actor.principalId}`);
  assert.deepEqual([status, body], [200, await person(actor.principalId)]);
  for (const response of [
    await admin.get(`/people/${newId()}`),
    await baton.otherAdmin.get(`/people/${actor.principalId}`),
  ])
    assert.deepEqual([response.status, response.body.error.code], [404, 'not_found']);
});

test('somebody without an identity is listed without access, and API keys are counted', async () => {
  const { body } = await admin.post('/principals', { kind: 'service', displayName: 'Builds' });
  const without = await person(body.id);
  assert.deepEqual(
    [without.kind, without.accessRole, without.permissions, without.identities, without.liveApiKeys],
    ['service', null, [], [], 0],
  );
  const keys: { id: string; key: string }[] = [];
  for (let n = 0; n < 2; n += 1)
    keys.push((await admin.post(`/principals/${body.id}/api-keys`, { permissions: ['tasks.read'] })).body);
  await admin.post(`/api-keys/${keys[0]?.id}:revoke`);
  const answer = await baton.request('GET', '/api/v1/tasks', { token: keys[1]?.key as string });
  assert.equal(answer.status, 200);
  const listed = await person(body.id);
  assert.equal(listed.liveApiKeys, 1);
  assert.notEqual(listed.lastUsedAt, null);
});

test('at most 20 identities are listed, newest first; access counts all, and any is found by its id', async () => {
  const { body } = await admin.post('/principals', { kind: 'agent', displayName: 'Many' });
  const bound: string[] = [];
  const identities: string[] = [];
  for (let n = 0; n < 22; n += 1) {
    const identity = { issuer: baton.issuer.issuer, iamTenantId: newId(), iamPrincipalId: newId() };
    const access = n === 0 ? { permissions: ['events.read', 'tasks.claim'] } : { accessRole: 'viewer' };
    const made = await admin.post(`/principals/${body.id}/iam-bindings`, { ...identity, ...access });
    bound.unshift(made.body.id);
    identities.unshift(identity.iamPrincipalId);
  }
  await admin.post(`/iam-bindings/${bound[0]}:revoke`);
  const listed = await person(body.id);
  assert.deepEqual(
    listed.identities.map((one: { bindingId: string }) => one.bindingId),
    bound.slice(1, 21),
  );
  assert.deepEqual([listed.accessRole, listed.permissions.includes('tasks.claim')], [null, true]);
  const wanted = [identities[0], identities[21]];
  const { body: found } = await admin.get(`/people?iamPrincipalIds=${wanted.join(',')}`);
  const [one] = found.items;
  assert.deepEqual(
    [one.identities[0].iamPrincipalId, one.formerIamPrincipalIds],
    [identities[21], [identities[0]]],
  );
});

test('filters by kind, words and access role; pages; the tenant is its own', async () => {
  const actors: Actor[] = [];
  for (let n = 0; n < 3; n += 1) {
    const actor = await baton.actor({ kind: 'human' });
    await setAccess(admin, actor.principalId, { accessRole: 'lead' });
    actors.unshift(actor);
  }
  const ids = async (query: string, actor = admin): Promise<string[]> =>
    (await actor.get(`/people?${query}`)).body.items.map((one: { id: string }) => one.id);
  const expected = actors.map(({ principalId }) => principalId);
  assert.deepEqual(await ids('accessRole=lead'), expected);
  assert.deepEqual(await ids('accessRole=lead&kind=agent'), []);
  assert.deepEqual(await ids('accessRole=lead', baton.otherAdmin), []);
  assert.ok((await ids('q=administrator')).includes(admin.principalId));
  const { body: first } = await admin.get('/people?accessRole=lead&limit=2');
  const { body: second } = await admin.get(`/people?accessRole=lead&limit=2&cursor=${first.nextCursor}`);
  assert.deepEqual(
    [...first.items, ...second.items].map((one: { id: string }) => one.id),
    expected,
  );
  assert.equal(second.nextCursor, null);
  for (const [query, code] of [
    ['kind=bot', 'invalid_kind'],
    ['cursor=x', 'invalid_cursor'],
  ] as const) {
    const { status, body } = await admin.get(`/people?${query}`);
    assert.deepEqual([status, body.error.code], [422, code]);
  }
  const blind = await baton.actor({ permissions: ['tasks.read'] });
  assert.equal((await blind.get('/people')).status, 403);
});

test('are found by their ids at identity, at most 100, also by a revoked binding; other tenants do not count', async () => {
  const actors = [await baton.actor({ kind: 'human' }), await baton.actor({ kind: 'agent' })];
  await baton.actor({ kind: 'agent' });
  const ids = actors.map(({ iamPrincipalId }) => iamPrincipalId);
  const found = async (wanted: readonly string[], actor = admin): Promise<string[]> =>
    (await actor.get(`/people?iamPrincipalIds=${wanted.join(',')}`)).body.items.map(
      (one: { id: string }) => one.id,
    );
  const expected = actors.map(({ principalId }) => principalId).reverse();
  assert.deepEqual(await found([...ids, newId()]), expected);
  assert.deepEqual(await found(ids, baton.otherAdmin), []);
  assert.deepEqual(await found([newId()]), []);
  const [binding] = (await person(expected[0] as string)).identities;
  await admin.post(`/iam-bindings/${binding.bindingId}:revoke`);
  assert.deepEqual(await found(ids), expected);
  const former = await person(expected[0] as string);
  assert.deepEqual([former.identities, former.formerIamPrincipalIds], [[], [ids[1]]]);
  for (const wrong of ['x', '', Array.from({ length: 101 }, newId).join(',')])
    assert.equal((await admin.get(`/people?iamPrincipalIds=${wrong}`)).status, 400, wrong.slice(0, 40));
});
