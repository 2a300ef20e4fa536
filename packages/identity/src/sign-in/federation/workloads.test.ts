import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import type { TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal } from '../../testing/objects.ts';
import { auditOf, journalOf } from '../../testing/records.ts';
import { makeRealm, newSubject, type Realm, routes, signInBy, startFederation } from './testing/sign-in.ts';
import type { Upstream } from './testing/upstream.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const ofPrograms = { principalKind: 'workload', lifecycleProfile: 'managed' };

async function principalOf({ tenantId }: Realm, principalId: string) {
  return made(identity.get(`/tenants/${tenantId}/principals/${principalId}`));
}

const contextsOf = (principalId: string) =>
  identity.pool.rows(sql`select id from authentication_contexts where principal_id = ${principalId}`);

/** Links the subject of an upstream token to a principal, as an administrator does. */
async function link({ tenantId }: Realm, principalId: string, subject: string): Promise<void> {
  const path = `/tenants/${tenantId}/principals/${principalId}/external-identities`;
  await made(identity.post(path, { issuer: upstream.issuer, subject }));
}

test('the token of a CI job makes a workload where its provider is one of programs, and a person elsewhere', async () => {
  for (const [changes, kind] of [
    [{}, 'human'],
    [{ principalKind: 'human' }, 'human'],
    [ofPrograms, 'workload'],
  ] as const) {
    const realm = await makeRealm(identity, upstream, changes);
    const { body } = await signInBy(identity, realm, await upstream.sign({ sub: newSubject() }));
    assert.equal((await principalOf(realm, body.principalId)).kind, kind);
    const event = (await journalOf(identity, realm.tenantId)).find(
      ({ type }) => type === 'principal.created',
    );
    assert.equal(event?.payload.kind, kind);
  }
});

test('a workload exchanges its token, without what only people have', async () => {
  const realm = await makeRealm(identity, upstream, ofPrograms);
  const claims = { sub: newSubject(), acr: 'high', auth_time: 1_700_000_000 };
  const first = await signInBy(identity, realm, await upstream.sign(claims), 'exchange');
  assert.equal(first.status, 200, JSON.stringify(first.body));
  const token = decodeJwt(first.body.accessToken);
  assert.deepEqual(
    [token['principal_type'], token['acr'], token['auth_time'], token['client_id']],
    ['workload', undefined, undefined, `idp:${realm.key}`],
  );
  assert.deepEqual(await contextsOf(first.body.principalId), []);
  const again = await signInBy(identity, realm, await upstream.sign(claims), 'exchange');
  assert.equal(again.body.principalId, first.body.principalId);
});

test('an agent and a workload that are linked sign in through a provider of programs, on both routes', async () => {
  for (const kind of ['agent', 'workload']) {
    const realm = await makeRealm(identity, upstream, ofPrograms);
    const [principalId, sub] = [await makePrincipal(identity, realm.tenantId, kind), newSubject()];
    await link(realm, principalId, sub);
    for (const route of routes) {
      const answer = await signInBy(identity, realm, await upstream.sign({ sub }), route);
      assert.deepEqual([answer.status, answer.body.principalId], [200, principalId], `${kind} ${route}`);
      if (route === 'exchange') assert.equal(decodeJwt(answer.body.accessToken)['principal_type'], kind);
    }
  }
});

test('a service account does not, and nobody but a person through a provider of people', async () => {
  for (const [changes, kind] of [
    [ofPrograms, 'service_account'],
    [{ lifecycleProfile: 'managed' }, 'agent'],
    [{ lifecycleProfile: 'managed' }, 'workload'],
  ] as const) {
    const realm = await makeRealm(identity, upstream, changes);
    const [principalId, sub] = [await makePrincipal(identity, realm.tenantId, kind), newSubject()];
    await link(realm, principalId, sub);
    const { status, body } = await signInBy(identity, realm, await upstream.sign({ sub }), 'exchange');
    assert.deepEqual([status, body], [422, { detail: 'human_principal_required' }], kind);
    const denied = (await auditOf(identity, realm.tenantId)).at(-1);
    assert.deepEqual([denied?.action, denied?.outcome], ['federation.exchange', 'denied']);
  }
});

test('a workload gets no privileged scope, even as a member of the group', async () => {
  const realm = await makeRealm(identity, upstream, ofPrograms);
  const { tenantId } = realm;
  await made(
    identity.post(`/tenants/${tenantId}/audiences`, { key: 'fleet', allowedScopes: ['fleet:admin'] }),
  );
  const group = await made(
    identity.post(`/tenants/${tenantId}/groups`, { key: 'fleet-admins', name: 'Fleet' }),
  );
  const sub = newSubject();
  const { body } = await signInBy(identity, realm, await upstream.sign({ sub }));
  await made(
    identity.post(`/tenants/${tenantId}/groups/${group.id}/members`, { principalId: body.principalId }),
  );
  const wanted = { audience: 'fleet', scopes: ['fleet:admin'] };
  const answer = await signInBy(identity, realm, await upstream.sign({ sub }), 'exchange', wanted);
  assert.deepEqual([answer.status, answer.body.detail], [403, 'scope_not_allowed']);
});

test('the kind can be changed, and principals that exist keep theirs', async () => {
  const realm = await makeRealm(identity, upstream);
  const path = `/tenants/${realm.tenantId}/identity-providers/${realm.key}`;
  assert.equal((await made(identity.get(path))).principal_kind, 'human');
  const sub = newSubject();
  const { body } = await signInBy(identity, realm, await upstream.sign({ sub }));
  assert.equal((await made(identity.patch(path, { principalKind: 'workload' }))).principal_kind, 'workload');
  const again = await signInBy(identity, realm, await upstream.sign({ sub }), 'exchange');
  assert.deepEqual([again.status, again.body.principalId], [200, body.principalId]);
  assert.equal((await principalOf(realm, body.principalId)).kind, 'human');
  const next = await signInBy(identity, realm, await upstream.sign({ sub: newSubject() }));
  assert.equal((await principalOf(realm, next.body.principalId)).kind, 'workload');
  for (const principalKind of ['agent', 'service_account', 'Human', null])
    assert.equal((await identity.patch(path, { principalKind })).status, 422);
});

test('of an issuer that strangers share, only tokens with the required claims sign in', async () => {
  const requiredClaims = { repository_owner: ['acme', 'acme-labs'], environment: ['production'] };
  const realm = await makeRealm(identity, upstream, { ...ofPrograms, requiredClaims });
  const path = `/tenants/${realm.tenantId}/identity-providers/${realm.key}`;
  assert.deepEqual((await made(identity.get(path))).required_claims, requiredClaims);
  const signIn = async (claims: object) =>
    signInBy(identity, realm, await upstream.sign({ sub: newSubject(), ...claims }));
  for (const claims of [
    { repository_owner: 'acme', environment: 'production' },
    { repository_owner: 'acme-labs', environment: ['staging', 'production'] },
  ])
    assert.equal((await signIn(claims)).status, 200, JSON.stringify(claims));
  for (const claims of [
    {},
    { repository_owner: 'acme' },
    { repository_owner: 'stranger', environment: 'production' },
    { repository_owner: 'ACME', environment: 'production' },
    { repository_owner: { 0: 'acme' }, environment: 'production' },
    { repository_owner: 1, environment: 'production' },
    { repository_owner: [], environment: 'production' },
  ]) {
    const { status, body } = await signIn(claims);
    assert.deepEqual([status, body], [403, { detail: 'claim_not_allowed' }], JSON.stringify(claims));
  }
  const refused = (await auditOf(identity, realm.tenantId)).at(-1);
  assert.deepEqual([refused?.outcome, refused?.reason], ['denied', 'claim_not_allowed']);
  await made(identity.patch(path, { requiredClaims: {} }));
  assert.equal((await signIn({})).status, 200);
  for (const malformed of [{ a: [] }, { a: 'acme' }, { '': ['x'] }, { a: [''] }, []])
    assert.equal(
      (await identity.patch(path, { requiredClaims: malformed })).status,
      422,
      JSON.stringify(malformed),
    );
});
