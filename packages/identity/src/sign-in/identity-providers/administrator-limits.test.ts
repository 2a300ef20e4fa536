import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Answer, TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal, makeTenant } from '../../testing/objects.ts';
import { bearer, issueToken } from '../administration-tokens/testing/administration.ts';
import { makeRealm, newSubject, signInBy, startFederation } from '../federation/testing/sign-in.ts';
import { jwkOf, makePair, type Upstream } from '../federation/testing/upstream.ts';
import { makePerson } from '../passkeys/testing/people.ts';
import { githubIssuer } from '../workload-rules/testing/workloads.ts';

/** Two tenants: `theirs` has a provider, and `own` has an administrator with an administration token. */

let identity: TestIdentity;
let upstream: Upstream;
let own: string;
let token: string;
before(async () => {
  ({ identity, upstream } = await startFederation());
  own = await makeTenant(identity);
  ({ token } = await issueToken(identity, await makePerson(identity, own)));
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const providers = (tenantId: string) => `/tenants/${tenantId}/identity-providers`;
const asAdministrator = (method: string, path: string, body: object): Promise<Answer> =>
  identity.request(method, `/api/v1${path}`, { body, headers: bearer(token) });
const register = (body: object) => asAdministrator('POST', providers(own), body);
const change = (key: string, body: object) => asAdministrator('PATCH', `${providers(own)}/${key}`, body);
const link = (principalId: string, body: object) =>
  asAdministrator('POST', `/tenants/${own}/principals/${principalId}/external-identities`, body);

const newProvider = (changes: object = {}) => {
  const key = `p-${randomUUID()}`;
  return { key, issuer: `https://${key}.example`, audience: 'baton', ...changes };
};
const registered = async (tenantId: string, changes: object = {}) => {
  const provider = newProvider(changes);
  await made(identity.post(providers(tenantId), provider));
  return provider;
};
const keySet = { keys: [jwkOf(makePair('chosen'))] };
const isRefused = ({ status, body }: Answer, field: string, message?: string) =>
  assert.deepEqual([status, body], [403, { detail: 'outside_administration', field }], message);

describe('an administrator', () => {
  test('can not lock out a person of another tenant, who then signs in', async () => {
    const theirs = await makeRealm(identity, upstream);
    const sub = newSubject();
    isRefused(await register(newProvider({ issuer: upstream.issuer, keySet })), 'keySet');
    const { audience } = await made(identity.get(`${providers(theirs.tenantId)}/${theirs.key}`));
    isRefused(await register(newProvider({ issuer: upstream.issuer, audience })), 'audience');
    isRefused(await register(newProvider({ issuer: upstream.issuer, subjectClaim: 'name' })), 'subjectClaim');
    const principalId = await makePrincipal(identity, own, 'human');
    for (const issuer of [upstream.issuer, `${upstream.issuer}/`])
      isRefused(await link(principalId, { issuer, subject: sub }), 'issuer');
    await made(signInBy(identity, theirs, await upstream.sign({ sub })));
  });

  test('chooses no keys for sign-ins, by registration or by a change', async () => {
    const none = newProvider({ principalKind: 'none', keySet });
    assert.equal((await register(none)).status, 201, 'workload rules concern only the own tenant');
    const address = { jwksUri: 'https://keys.example/jwks' };
    const fetched = newProvider({ principalKind: 'none', ...address });
    assert.equal((await register(fetched)).status, 201);
    for (const principalKind of ['human', 'workload']) {
      isRefused(await register(newProvider({ principalKind, keySet })), 'keySet', principalKind);
      isRefused(await register(newProvider({ principalKind, ...address })), 'jwksUri', principalKind);
      isRefused(await change(none.key, { principalKind }), 'keySet', principalKind);
      isRefused(await change(fetched.key, { principalKind }), 'jwksUri', principalKind);
      const { key } = await registered(own, { principalKind });
      isRefused(await change(key, { keySet }), 'keySet', principalKind);
      isRefused(await change(key, address), 'jwksUri', principalKind);
    }
    assert.equal((await change(none.key, { keySet: null, principalKind: 'human' })).status, 200);
  });

  test('changes everything else of a provider with the keys of the operator, but not its issuer', async () => {
    const { key } = await registered(own, { keySet });
    assert.equal((await change(key, { audience: 'another', offered: true })).status, 200);
    isRefused(await change(key, { issuer: `https://${randomUUID()}.example` }), 'keySet');
  });

  test('keeps no issuer from another tenant, but the tokens for an audience, whatever the kind and status', async () => {
    for (const principalKind of ['human', 'workload', 'none']) {
      const theirs = await makeTenant(identity);
      const { issuer, key } = await registered(theirs, { principalKind });
      await made(identity.post(`${providers(theirs)}/${key}:disable`));
      for (const wanted of ['human', 'workload', 'none'])
        isRefused(await register(newProvider({ issuer: `${issuer}/`, principalKind: wanted })), 'audience');
      const mine = await registered(own);
      isRefused(await change(mine.key, { issuer }), 'issuer', principalKind);
      const audience = `https://baton.example/${own}`;
      const shared = newProvider({ issuer: `${issuer}/`, audience, principalKind });
      assert.equal((await register(shared)).status, 201, principalKind);
    }
  });

  test('uploads the keys of a cluster whose issuer has the same name in every cluster', async () => {
    const issuer = `https://kubernetes.default.svc.cluster.${randomUUID()}`;
    const cluster = { issuer, keySet, principalKind: 'none' };
    await registered(await makeTenant(identity), cluster);
    isRefused(await register(newProvider(cluster)), 'audience');
    assert.equal((await register(newProvider({ ...cluster, audience: 'ours' }))).status, 201);
  });

  test('changes nothing that could meet the tokens of another tenant with the issuer', async () => {
    const { issuer } = await registered(await makeTenant(identity));
    const audience = 'of the own tenant';
    const { key } = await registered(own, { issuer, audience, lifecycleProfile: 'managed' });
    isRefused(await change(key, { audience: 'baton' }), 'audience');
    isRefused(await change(key, { subjectClaim: 'name' }), 'subjectClaim');
    assert.equal((await change(key, { audience: 'other', offered: true })).status, 200);
    const principalId = await makePrincipal(identity, own, 'human');
    isRefused(await link(principalId, { issuer, subject: 'x' }), 'issuer');
  });

  test('shares an issuer of CI jobs, by its own subjects', async () => {
    const audience = randomUUID();
    await registered(await makeTenant(identity), { issuer: githubIssuer, audience, principalKind: 'none' });
    const requiredClaims = { repository_owner_id: ['42'] };
    const shared = {
      issuer: githubIssuer,
      audience: `${audience} of another`,
      principalKind: 'workload',
      requiredClaims,
    };
    isRefused(await register(newProvider({ ...shared, audience })), 'audience');
    isRefused(await register(newProvider({ ...shared, subjectClaim: 'environment' })), 'subjectClaim');
    const provider = newProvider(shared);
    assert.equal((await register(provider)).status, 201);
    isRefused(await change(provider.key, { subjectClaim: 'environment' }), 'subjectClaim');
    isRefused(await change(provider.key, { audience }), 'audience');
    assert.equal((await change(provider.key, { audience: `${audience} changed` })).status, 200);
    const mine = await registered(own);
    isRefused(await change(mine.key, { issuer: `${githubIssuer}/acme` }), 'issuer');
    const principalId = await makePrincipal(identity, own, 'human');
    isRefused(await link(principalId, { issuer: githubIssuer, subject: 'repo:a/b' }), 'issuer');
  });

  test('links nobody by hand at an issuer of everybody, even if no other tenant has it yet', async () => {
    const issuer = 'https://accounts.google.com';
    const provider = { issuer, lifecycleProfile: 'managed', unknownPeople: 'request' };
    assert.equal((await register(newProvider(provider))).status, 201);
    const principalId = await makePrincipal(identity, own, 'human');
    for (const named of [issuer, `${issuer}/`])
      isRefused(await link(principalId, { issuer: named, subject: newSubject() }), 'issuer');
  });

  test('links by hand only at an issuer of the own tenant that keeps its own keys', async () => {
    const principalId = await makePrincipal(identity, own, 'human');
    const at = (issuer: string) => link(principalId, { issuer, subject: newSubject() });
    const managed = { lifecycleProfile: 'managed' };
    assert.equal((await at((await registered(own, managed)).issuer)).status, 201);
    for (const changes of [
      { ...managed, keySet },
      { ...managed, principalKind: 'none' },
    ])
      isRefused(await at((await registered(own, changes)).issuer), 'issuer', JSON.stringify(changes));
    isRefused(await at(`https://${randomUUID()}.example`), 'issuer');
  });

  test('gets the usual refusals before and after', async () => {
    assert.equal(
      (await register(newProvider({ issuer: 'no address', keySet }))).body.detail,
      'invalid_issuer',
    );
    const { key, issuer } = await registered(own);
    const exists = await register(newProvider({ key, issuer }));
    assert.deepEqual([exists.status, exists.body], [409, { detail: 'identity_provider_exists' }]);
    const nobody = await link(randomUUID(), { issuer, subject: 'x' });
    assert.deepEqual([nobody.status, nobody.body], [404, { detail: 'principal_not_found' }]);
    const managed = await link(await makePrincipal(identity, own, 'human'), { issuer, subject: 'x' });
    assert.deepEqual([managed.status, managed.body], [409, { detail: 'identity_provider_managed' }]);
  });
});

test('of two administrators who register an issuer for an audience at the same time, at two processes, one has it', async () => {
  const other = await identity.another();
  const tenantId = await makeTenant(identity);
  const rival = (await issueToken(identity, await makePerson(identity, tenantId))).token;
  for (let round = 0; round < 10; round += 1) {
    const body = newProvider();
    const answers = await Promise.all([
      register(body),
      other.request('POST', `/api/v1${providers(tenantId)}`, { body, headers: bearer(rival) }),
    ]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 403]);
  }
});

test('the operator may do all of it', async () => {
  const { issuer } = await registered(await makeTenant(identity));
  const address = 'https://keys.example/jwks';
  const { key } = await registered(own, { issuer, keySet, subjectClaim: 'oid', lifecycleProfile: 'managed' });
  await made(identity.patch(`${providers(own)}/${key}`, { jwksUri: address, audience: 'other' }));
  const principalId = await makePrincipal(identity, own, 'human');
  const path = `/tenants/${own}/principals/${principalId}/external-identities`;
  await made(identity.post(path, { issuer, subject: 'x' }));
});
