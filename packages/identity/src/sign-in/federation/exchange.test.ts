import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { makeCurveKey, type TestIdentity } from '../../testing/identity.ts';
import {
  adminScope,
  made,
  makeAudience,
  makePrincipal,
  readScope,
  writeScope,
} from '../../testing/objects.ts';
import { auditOf, storeCounts } from '../../testing/records.ts';
import { makeRealm, newSubject, type Realm, signInBy, startFederation } from './testing/sign-in.ts';
import { nowSeconds, type Upstream } from './testing/upstream.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation({ IAM_PRIVILEGED_SCOPES: '{"deploy:run":"deployers"}' }));
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const exchange = async (realm: Realm, claims: object, more: object = {}) =>
  signInBy(identity, realm, await upstream.sign(claims), 'exchange', more);
const lastAudit = async ({ tenantId }: Realm) => (await auditOf(identity, tenantId)).at(-1);

/** A response of the exchange, without the fields that differ each time. */
function tokenOf({ accessToken }: { accessToken: string }): Record<string, unknown> {
  return decodeJwt(accessToken);
}

describe('federation:exchange', () => {
  test('issues a token with exactly its claims for this sign-in', async () => {
    const realm = await makeRealm(identity, upstream);
    const sub = newSubject();
    const authTime = nowSeconds() - 30;
    const claims = { sub, acr: 'gold', amr: ['pwd', 'otp'], auth_time: authTime };
    const { status, body } = await exchange(realm, claims, { scopes: [writeScope, readScope, writeScope] });
    assert.equal(status, 200);
    const { accessToken, sessionId, principalId, ...rest } = body;
    const time = new Date(authTime * 1000).toISOString();
    assert.deepEqual(rest, {
      tokenType: 'Bearer',
      expiresIn: 300,
      audience: 'control-plane',
      scope: [readScope, writeScope],
      identityProvider: realm.key,
      groups: [],
      authenticationContext: { acr: 'gold', amr: ['pwd', 'otp'], authTime: time },
      identityProviderStale: false,
      admissionStatement: null,
    });
    const { iat, nbf, exp, jti, credential_id, ...claimed } = tokenOf(body);
    assert.deepEqual(claimed, {
      iss: 'http://localhost:8010/iam',
      sub: principalId,
      tenant_id: realm.tenantId,
      aud: 'control-plane',
      scope: `${readScope} ${writeScope}`,
      principal_type: 'human',
      client_id: `idp:${realm.key}`,
      scope_ceiling: [adminScope, readScope, writeScope],
      session_id: sessionId,
      auth_time: time,
      acr: 'gold',
    });
    assert.deepEqual([nbf, exp], [iat, (iat as number) + 300]);
    assert.match(jti as string, /^[\w-]{36}$/);
    assert.deepEqual(decodeProtectedHeader(accessToken), { alg: 'RS256', typ: 'at+jwt', kid: 'local-dev' });
    const again = tokenOf((await exchange(realm, claims)).body);
    assert.equal(again['credential_id'], credential_id, 'stable between sign-ins');
    assert.notEqual(again['session_id'], sessionId);
    const audited = (await auditOf(identity, realm.tenantId)).find(({ reason }) =>
      reason.includes(sessionId),
    );
    assert.deepEqual(
      [
        audited?.action,
        audited?.actor_ref,
        audited?.resource_type,
        audited?.resource_id,
        audited?.outcome,
        audited?.reason,
      ],
      [
        'federation.exchange',
        principalId,
        'external_identity',
        credential_id,
        'allowed',
        `provider:${realm.key} audience:control-plane session:${sessionId}`,
      ],
    );
    const actions = (await auditOf(identity, realm.tenantId)).map(({ action }) => action);
    assert.ok(!actions.includes('federation.authenticate'));
  });

  test('without acr or auth_time the token has no acr, and the time of now; a time of the future is now', async () => {
    const realm = await makeRealm(identity, upstream);
    for (const claims of [{}, { auth_time: nowSeconds() + 3600 }]) {
      const { body } = await exchange(realm, { sub: newSubject(), ...claims });
      const token = tokenOf(body);
      assert.ok(!('acr' in token));
      assert.ok(Math.abs(Date.parse(token['auth_time'] as string) / 1000 - nowSeconds()) < 60);
    }
  });

  test('an empty request yields all that the audience allows', async () => {
    const realm = await makeRealm(identity, upstream);
    const { body } = await exchange(realm, { sub: newSubject() });
    assert.deepEqual(body.scope, [adminScope, readScope, writeScope]);
    assert.equal(tokenOf(body)['scope'], body.scope.join(' '));
  });

  test('a scope with a blank, stored before such were refused, is granted to nobody', async () => {
    const realm = await makeRealm(identity, upstream);
    const split = `${readScope} fleet:admin`;
    await identity.pool.run(sql`
      update audiences set allowed_scopes = array[${split}, ${writeScope}]
      where key = 'control-plane' and tenant_id = ${realm.tenantId}`);
    const { body } = await exchange(realm, { sub: newSubject() });
    const { scope, scope_ceiling } = tokenOf(body);
    assert.deepEqual([body.scope, scope, scope_ceiling], [[writeScope], writeScope, [writeScope]]);
    const asked = await exchange(realm, { sub: newSubject() }, { scopes: [split] });
    assert.deepEqual([asked.status, asked.body], [403, { detail: 'scope_not_allowed' }]);
  });

  test('an agent, another audience and a scope outside are denied in this order; the sign-in stays', async () => {
    const realm = await makeRealm(identity, upstream, { lifecycleProfile: 'managed' });
    const principalId = await makePrincipal(identity, realm.tenantId, 'agent');
    const agent = newSubject();
    await made(
      identity.post(`/tenants/${realm.tenantId}/principals/${principalId}/external-identities`, {
        issuer: upstream.issuer,
        subject: agent,
      }),
    );
    await makeAudience(identity, realm.tenantId, 'closed', ['closed:read']);
    await identity.pool.run(sql`
      update audiences set status = 'disabled' where key = 'closed' and tenant_id = ${realm.tenantId}`);
    for (const [sub, more, status, code, audience] of [
      [agent, { audience: 'unknown', scopes: ['x'] }, 422, 'human_principal_required', 'unknown'],
      [newSubject(), { audience: 'unknown', scopes: ['x'] }, 403, 'audience_not_allowed', 'unknown'],
      [newSubject(), { audience: 'closed' }, 403, 'audience_not_allowed', 'closed'],
      [newSubject(), { scopes: [readScope, 'read'] }, 403, 'scope_not_allowed', 'control-plane'],
      [newSubject(), { scopes: ['iam:people'] }, 403, 'scope_not_allowed', 'control-plane'],
    ] as const) {
      const answer = await exchange(realm, { sub }, more);
      assert.deepEqual([answer.status, answer.body], [status, { detail: code }]);
      const linked = await identity.pool.row<{
        id: string;
        principal_id: string;
        last_sign_in_at: string | null;
      }>(sql`
        select id, principal_id, last_sign_in_at from external_identities where subject = ${sub}`);
      assert.notEqual(linked?.last_sign_in_at, null);
      const audited = await lastAudit(realm);
      assert.deepEqual(
        [
          audited?.action,
          audited?.actor_ref,
          audited?.resource_type,
          audited?.resource_id,
          audited?.outcome,
          audited?.reason,
        ],
        [
          'federation.exchange',
          linked?.principal_id,
          'external_identity',
          linked?.id,
          'denied',
          `provider:${realm.key} audience:${audience} ${code}`,
        ],
      );
    }
  });

  test('without a signing key it answers 500 and nothing is stored', async () => {
    const keyless = await identity.another({ IAM_SIGNING_PRIVATE_KEY: '' });
    const realm = await makeRealm(identity, upstream);
    const token = await upstream.sign({ sub: newSubject() });
    const before = await storeCounts(identity);
    const { status, body } = await signInBy(keyless, realm, token, 'exchange');
    assert.deepEqual([status, body], [500, { detail: 'Internal Server Error' }]);
    assert.deepEqual(await storeCounts(identity), before);
    assert.equal((await signInBy(keyless, realm, token)).status, 200);
  });

  test('when too many signatures wait it answers 503 and rolls the sign-in back, without a refusal in the audit', async () => {
    const busy = await identity.another({ IAM_SIGNING_QUEUE_MAX: '1' });
    const realm = await makeRealm(identity, upstream);
    const tokens = await Promise.all(Array.from({ length: 30 }, () => upstream.sign({ sub: newSubject() })));
    const answers = await Promise.all(tokens.map((token) => signInBy(busy, realm, token, 'exchange')));
    const refused = answers.filter(({ status }) => status !== 200);
    assert.ok(refused.length > 0 && refused.length < 30, `${refused.length} refused`);
    for (const { status, body } of refused)
      assert.deepEqual([status, body], [503, { detail: 'unavailable' }]);
    const outcomes = (await auditOf(identity, realm.tenantId)).filter(
      ({ action }) => action === 'federation.exchange',
    );
    assert.equal(outcomes.length, 30 - refused.length);
    assert.ok(outcomes.every(({ outcome }) => outcome === 'allowed'));
  });
});

describe('privileged scopes', () => {
  const people = ['iam:people', 'iam:read', 'fleet:admin', 'deploy:run'];

  async function makePeopleRealm() {
    const realm = await makeRealm(identity, upstream, {
      groupMappings: { admins: 'people-admins', ops: 'deployers' },
    });
    await makeAudience(identity, realm.tenantId, 'iam', people);
    return realm;
  }
  const makeGroup = ({ tenantId }: Realm, key: string): Promise<{ id: string }> =>
    made(identity.post(`/tenants/${tenantId}/groups`, { key, name: key }));

  test('are granted to members of their groups, and only if requested by name', async () => {
    const realm = await makePeopleRealm();
    await makeGroup(realm, 'people-admins');
    const claims = { sub: newSubject(), groups: ['admins'] };
    const silent = (await exchange(realm, claims, { audience: 'iam' })).body;
    assert.deepEqual(silent.scope, ['iam:read'], 'an empty request brings none, also to a member');
    assert.deepEqual(tokenOf(silent)['scope_ceiling'], ['iam:people', 'iam:read']);
    const named = (await exchange(realm, claims, { audience: 'iam', scopes: ['iam:people'] })).body;
    assert.deepEqual([named.scope, named.groups], [['iam:people'], ['people-admins']]);
    assert.deepEqual(tokenOf(named)['scope_ceiling'], ['iam:people', 'iam:read']);
    assert.equal(
      (await lastAudit(realm))?.reason,
      `provider:${realm.key} audience:iam session:${named.sessionId} privileged:iam:people@group:people-admins`,
    );
  });

  test('of people need the group that the setting names', async () => {
    const realm = await makePeopleRealm();
    await makeGroup(realm, 'deployers');
    const other = await identity.another({ IAM_PEOPLE_ADMIN_GROUP: 'deployers' });
    const statusOf = async (group: string) => {
      const token = await upstream.sign({ sub: newSubject(), groups: [group] });
      const body = { identityProvider: realm.key, token, audience: 'iam', scopes: ['iam:people'] };
      const path = `/api/v1/tenants/${realm.tenantId}/federation:exchange`;
      return (await other.request('POST', path, { body })).status;
    };
    assert.deepEqual([await statusOf('ops'), await statusOf('admins')], [200, 403]);
  });

  test('are otherwise a refusal of the whole request, and the audit row names the groups', async () => {
    const realm = await makePeopleRealm();
    await makeGroup(realm, 'people-admins');
    const stranger = await exchange(
      realm,
      { sub: newSubject(), groups: [] },
      {
        audience: 'iam',
        scopes: ['iam:people', 'iam:read', 'fleet:admin'],
      },
    );
    assert.deepEqual([stranger.status, stranger.body], [403, { detail: 'scope_not_allowed' }]);
    assert.equal(
      (await lastAudit(realm))?.reason,
      `provider:${realm.key} audience:iam scope_not_allowed group:fleet-admins group:people-admins`,
    );
    const { body } = await exchange(realm, { sub: newSubject() }, { audience: 'iam' });
    assert.deepEqual([body.scope, tokenOf(body)['scope_ceiling']], [['iam:read'], ['iam:read']]);
  });

  test('a membership counts from any source, the group only when it is local, active and not deleted', async () => {
    const realm = await makePeopleRealm();
    const sub = newSubject();
    const { principalId } = (await exchange(realm, { sub })).body;
    const ask = async (scope: string) =>
      (await exchange(realm, { sub }, { audience: 'iam', scopes: [scope] })).status;
    const { id } = await makeGroup(realm, 'fleet-admins');
    assert.equal(await ask('fleet:admin'), 403);
    await made(identity.post(`/tenants/${realm.tenantId}/groups/${id}/members`, { principalId }));
    assert.equal(await ask('fleet:admin'), 200);
    await identity.pool.run(sql`update groups set status = 'disabled' where id = ${id}`);
    assert.equal(await ask('fleet:admin'), 403);
    await identity.pool.run(sql`update groups set status = 'active', source = 'scim' where id = ${id}`);
    assert.equal(await ask('fleet:admin'), 403);
    await identity.pool.run(sql`update groups set source = 'local', deleted_at = now() where id = ${id}`);
    assert.equal(await ask('fleet:admin'), 403);
  });

  test('their groups are never created by a sign-in: left out while absent, projected if they exist', async () => {
    const realm = await makePeopleRealm();
    const claims = { sub: newSubject(), groups: ['admins', 'ops'] };
    const before = await exchange(realm, claims, { audience: 'iam' });
    assert.deepEqual(before.body.groups, []);
    await makeGroup(realm, 'deployers');
    const after = await exchange(realm, claims, { audience: 'iam', scopes: ['deploy:run'] });
    assert.deepEqual([after.status, after.body.groups], [200, ['deployers']]);
  });
});

test('the token of a sign-in is signed by the algorithm of its audience; without its key nothing is stored', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-federation-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'es256.pem');
  await writeFile(file, makeCurveKey('ES256'));
  const elliptic = await identity.another({ IAM_SIGNING_ES256_KEY_FILE: file });
  const realm = await makeRealm(elliptic, upstream);
  await made(
    elliptic.post(`/tenants/${realm.tenantId}/audiences`, {
      key: 'elliptic',
      allowedScopes: [readScope],
      signingAlgorithm: 'ES256',
    }),
  );
  const algorithmFor = async (audience: string) => {
    const token = await upstream.sign({ sub: newSubject() });
    const { body } = await signInBy(elliptic, realm, token, 'exchange', { audience });
    const keySet = createLocalJWKSet(await made(elliptic.request('GET', '/.well-known/jwks.json')));
    return (await jwtVerify(body.accessToken, keySet, { audience })).protectedHeader.alg;
  };
  assert.deepEqual([await algorithmFor('elliptic'), await algorithmFor('control-plane')], ['ES256', 'RS256']);
  const before = await storeCounts(identity);
  const { status } = await exchange(realm, { sub: newSubject() }, { audience: 'elliptic' });
  assert.equal(status, 500);
  assert.deepEqual(await storeCounts(identity), before);
});
