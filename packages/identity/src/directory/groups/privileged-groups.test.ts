import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  makeRealm,
  newSubject,
  type Realm,
  signInBy,
  startFederation,
} from '../../sign-in/federation/testing/sign-in.ts';
import type { Upstream } from '../../sign-in/federation/testing/upstream.ts';
import { adminHeader, type TestIdentity } from '../../testing/identity.ts';
import { made, makeAudience } from '../../testing/objects.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const remove = (path: string) => identity.request('DELETE', `/api/v1${path}`, { headers: adminHeader });

/** A tenant whose `fleet:admin` is reserved for the members of a group, and a person who requests it. */
async function makeFleet() {
  const realm: Realm = await makeRealm(identity, upstream, { groupMappings: { pilots: 'fleet-admins' } });
  const groupsPath = `/tenants/${realm.tenantId}/groups`;
  await makeAudience(identity, realm.tenantId, 'fleet', ['fleet:admin', 'fleet:read']);
  const { id } = await made(identity.post(groupsPath, { key: 'fleet-admins', name: 'Fleet' }));
  const sub = newSubject();
  const ask = async (claims: object = {}) => {
    const token = await upstream.sign({ sub, ...claims });
    const wanted = { audience: 'fleet', scopes: ['fleet:admin'] };
    return signInBy(identity, realm, token, 'exchange', wanted);
  };
  const { principalId } = (await signInBy(identity, realm, await upstream.sign({ sub }))).body;
  return { path: `${groupsPath}/${id}`, principalId, ask };
}

test('a disabled group entitles nobody to a privileged scope until it is enabled', async () => {
  const { path, principalId, ask } = await makeFleet();
  await made(identity.post(`${path}/members`, { principalId }));
  assert.equal((await ask()).status, 200);
  await made(identity.patch(path, { status: 'disabled' }));
  const closed = await ask();
  assert.deepEqual([closed.status, closed.body], [403, { detail: 'scope_not_allowed' }]);
  await made(identity.patch(path, { status: 'active' }));
  assert.equal((await ask()).status, 200);
});

test('a removed member is no longer entitled, and nobody is once the group is deleted', async () => {
  const { path, principalId, ask } = await makeFleet();
  await made(identity.post(`${path}/members`, { principalId }));
  assert.equal((await ask()).status, 200);
  assert.equal((await remove(`${path}/members/${principalId}`)).status, 204);
  assert.equal((await ask()).status, 403);
  await made(identity.post(`${path}/members`, { principalId }));
  assert.equal((await ask()).status, 200);
  assert.equal((await remove(path)).status, 204);
  assert.equal((await ask({ groups: ['pilots'] })).status, 403);
});

test('a membership that the provider brought can be ended, and comes back at the next sign-in that names it', async () => {
  const { path, principalId, ask } = await makeFleet();
  const memberships = async () =>
    (await identity.get(`${path}/members`)).body.items.map(
      (member: { principal_id: string; source: string }) => [member.principal_id, member.source],
    );
  assert.equal((await ask({ groups: ['pilots'] })).status, 200);
  assert.deepEqual(await memberships(), [[principalId, 'federated']]);
  assert.equal((await remove(`${path}/members/${principalId}`)).status, 204);
  assert.equal((await ask()).status, 403, 'a token without groups changes none of them');
  assert.equal((await ask({ groups: ['pilots'] })).status, 200);
  assert.deepEqual(await memberships(), [[principalId, 'federated']]);
});
