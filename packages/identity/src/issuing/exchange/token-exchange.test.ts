import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createLocalJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import {
  adminScope,
  made,
  makeAudience,
  makeBearer,
  makePrincipal,
  makeTenant,
  makeToken,
  readScope,
  signIn,
  writeScope,
} from '../../testing/objects.ts';
import { auditOf, journalTypes, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_SIGNING_KEY_ID: 'test-key',
    IAM_PUBLIC_URL: 'https://baton.example',
  });
});
after(() => identity.close());

function exchange(token: string, body: object = {}) {
  const path = '/api/v1/platform-access-tokens:exchange';
  return identity.request('POST', path, { body: { token, audience: 'control-plane', ...body } });
}

async function verify(accessToken: string): Promise<JWTPayload> {
  const { body: jwks } = await identity.request('GET', '/.well-known/jwks.json');
  const { payload } = await jwtVerify(accessToken, createLocalJWKSet(jwks), {
    issuer: 'https://baton.example/iam',
    audience: 'control-plane',
    typ: 'at+jwt',
  });
  return payload;
}

async function readCredential(tenantId: string) {
  return (await identity.get(`/tenants/${tenantId}/platform-access-tokens?includeRevoked=true`)).body[0];
}

describe('exchanging a token', () => {
  test('answers an access token for one audience that the key document verifies', async () => {
    const { tenantId, principalId, token, credential } = await makeBearer(identity);
    const { status, body } = await exchange(token);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), [
      'accessToken',
      'tokenType',
      'expiresIn',
      'audience',
      'scope',
      'sessionId',
    ]);
    assert.deepEqual(
      [body.tokenType, body.expiresIn, body.audience, body.scope],
      ['Bearer', 300, 'control-plane', [readScope, writeScope]],
    );
    assert.deepEqual(decodeProtectedHeader(body.accessToken), {
      alg: 'RS256',
      typ: 'at+jwt',
      kid: 'test-key',
    });
    const { iat = 0, jti, ...claims } = await verify(body.accessToken);
    assert.ok(Math.abs(iat - Date.now() / 1000) < 5);
    assert.match(jti ?? '', /^[0-9a-f-]{36}$/);
    assert.deepEqual(claims, {
      iss: 'https://baton.example/iam',
      sub: principalId,
      tenant_id: tenantId,
      aud: 'control-plane',
      scope: `${readScope} ${writeScope}`,
      principal_type: 'agent',
      credential_id: credential.id,
      client_id: credential.publicPrefix,
      nbf: iat,
      exp: iat + 300,
      scope_ceiling: [readScope, writeScope],
      session_id: body.sessionId,
    });
  });

  test('a person’s token carries the sign-in of its issue, 16 claims in all', async () => {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId);
    const person = await makePrincipal(identity, tenantId, 'human');
    await signIn(identity, tenantId, person, { acr: 'urn:mfa', authTime: '2026-01-02T03:04:05Z' });
    const { token } = await makeToken(identity, tenantId, person);
    await signIn(identity, tenantId, person, { acr: 'urn:later' });
    const claims = await verify((await made(exchange(token))).accessToken);
    assert.deepEqual(
      [claims['principal_type'], claims['auth_time'], claims['acr']],
      ['human', '2026-01-02T03:04:05.000Z', 'urn:mfa'],
    );
    assert.equal(Object.keys(claims).length, 16);
  });

  test('writes an audit row, the first use, and no event', async () => {
    const { tenantId, principalId, token, credential } = await makeBearer(identity);
    const events = await journalTypes(identity, tenantId);
    const { sessionId } = await made(exchange(token));
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.resource_id, audited?.outcome, audited?.reason],
      [
        'platform_access_tokens.exchange',
        principalId,
        credential.id,
        'allowed',
        `pat:${credential.publicPrefix} audience:control-plane session:${sessionId}`,
      ],
    );
    assert.notEqual((await readCredential(tenantId)).lastUsedAt, null);
    assert.deepEqual(await journalTypes(identity, tenantId), events);
  });

  test('the last use is written again when it is 30 seconds old', async () => {
    const { tenantId, token, credential } = await makeBearer(identity);
    await exchange(token);
    const first = (await readCredential(tenantId)).lastUsedAt;
    await exchange(token);
    assert.equal((await readCredential(tenantId)).lastUsedAt, first);
    await identity.pool.run(
      sql`update platform_access_tokens set last_used_at = now() - interval '31 seconds' where id = ${credential.id}`,
    );
    await exchange(token);
    assert.ok((await readCredential(tenantId)).lastUsedAt >= first);
  });

  test('exchanges at the same time are each audited, with sessions of their own', async () => {
    const { tenantId, token } = await makeBearer(identity);
    const answers = await Promise.all(Array.from({ length: 40 }, () => made(exchange(token))));
    const sessions = new Set(answers.map(({ sessionId }) => sessionId));
    assert.equal(sessions.size, 40);
    const audited = (await auditOf(identity, tenantId)).filter(({ action }) => action.endsWith('.exchange'));
    const sessionsAudited = new Set(audited.map(({ reason }) => reason.split('session:')[1]));
    assert.deepEqual(sessionsAudited, sessions);
  });
});

describe('an exchange while its token is locked', () => {
  test('does not wait for the lock', async () => {
    const { tenantId, token, credential } = await makeBearer(identity);
    await identity.pool.transaction(async (tx) => {
      await tx.run(sql`select from platform_access_tokens where id = ${credential.id} for update`);
      assert.equal((await exchange(token)).status, 200);
    });
    assert.equal((await readCredential(tenantId)).lastUsedAt, null);
    await exchange(token);
    assert.notEqual((await readCredential(tenantId)).lastUsedAt, null);
  });
});

describe('the scopes of an exchange', () => {
  test('are the requested ones within ceiling and audience; without a request all of them, sorted', async () => {
    const { tenantId, token } = await makeBearer(identity);
    assert.deepEqual((await made(exchange(token, { scopes: [writeScope, writeScope] }))).scope, [writeScope]);
    for (const scopes of [[adminScope], [readScope, adminScope], ['read'], ['write']]) {
      const { status, body } = await exchange(token, { scopes });
      assert.deepEqual([status, body], [403, { detail: 'scope_not_allowed' }]);
    }
    const denied = (await auditOf(identity, tenantId)).at(-1);
    assert.equal(denied?.outcome, 'denied');
    assert.match(denied?.reason ?? '', /^pat:[0-9a-f]{12} audience:control-plane scope_not_allowed$/);
    await identity.patch(`/tenants/${tenantId}/audiences/control-plane`, { allowedScopes: [writeScope] });
    const narrowed = await made(exchange(token));
    assert.deepEqual(narrowed.scope, [writeScope]);
    assert.deepEqual((await verify(narrowed.accessToken))['scope_ceiling'], [writeScope]);
  });

  test('an empty ceiling gives an empty list, in the token an empty text', async () => {
    const { token } = await makeBearer(identity, { scopeCeiling: [] });
    const { scope, accessToken } = await made(exchange(token));
    assert.deepEqual(scope, []);
    assert.equal((await verify(accessToken))['scope'], '');
  });

  test('a scope with a blank, stored before such were refused, never comes out: its text would be two scopes', async () => {
    const { tenantId, token } = await makeBearer(identity);
    const split = `${readScope} ${adminScope}`;
    await identity.pool.run(sql`
      update audiences set allowed_scopes = array_append(allowed_scopes, ${split}) where tenant_id = ${tenantId}`);
    await identity.pool.run(sql`
      update platform_access_tokens set scope_ceiling = array[${split}, ${writeScope}] where tenant_id = ${tenantId}`);
    const plain = await made(exchange(token));
    assert.deepEqual([plain.scope, (await verify(plain.accessToken))['scope']], [[writeScope], writeScope]);
    const { status, body } = await exchange(token, { scopes: [split] });
    assert.deepEqual([status, body], [403, { detail: 'scope_not_allowed' }]);
  });

  test('privileged scopes are never granted: refused if requested, otherwise left out', async () => {
    const tenantId = await makeTenant(identity);
    const privileged = ['fleet:admin', 'iam:people'];
    await makeAudience(identity, tenantId, 'control-plane', [readScope, ...privileged]);
    const agent = await makePrincipal(identity, tenantId);
    const { token } = await makeToken(identity, tenantId, agent, {
      scopeCeiling: [readScope, ...privileged],
    });
    const plain = await made(exchange(token));
    assert.deepEqual(plain.scope, [readScope]);
    assert.deepEqual((await verify(plain.accessToken))['scope_ceiling'], [readScope]);
    for (const scope of privileged) {
      const { status, body } = await exchange(token, { scopes: [scope] });
      assert.deepEqual([status, body], [403, { detail: 'scope_not_allowed' }]);
    }
  });
});

describe('the audience of an exchange', () => {
  test('must be in the token’s list and active in the tenant, before the scopes are checked', async () => {
    const { tenantId, token, credential } = await makeBearer(identity);
    await makeAudience(identity, tenantId, 'memory-service', ['memory:read']);
    const refused = async (audience: string) => {
      const { status, body } = await exchange(token, { audience, scopes: ['nobody:has-this'] });
      assert.deepEqual([status, body], [403, { detail: 'audience_not_allowed' }]);
      const denied = (await auditOf(identity, tenantId)).at(-1);
      assert.deepEqual(
        [denied?.outcome, denied?.reason],
        ['denied', `pat:${credential.publicPrefix} audience:${audience} audience_not_allowed`],
      );
    };
    await refused('memory-service');
    await refused('unknown');
    await identity.pool.run(sql`update audiences set status = 'disabled' where tenant_id = ${tenantId}`);
    await refused('control-plane');
  });
});

describe('a token that is refused', () => {
  test('has one answer for every reason; only the audit log has the reason', async () => {
    const cases: [
      string,
      (ids: { tenantId: string; principalId: string; id: string }) => ReturnType<typeof sql>,
    ][] = [
      [
        'credential_revoked',
        ({ id }) => sql`update platform_access_tokens set revoked_at = now() where id = ${id}`,
      ],
      [
        'credential_expired',
        ({ id }) =>
          sql`update platform_access_tokens set expires_at = now() - interval '1 ms' where id = ${id}`,
      ],
      [
        'tenant_not_active',
        ({ tenantId }) => sql`update tenants set status = 'disabled' where id = ${tenantId}`,
      ],
      [
        'membership_not_active',
        ({ principalId }) =>
          sql`update memberships set status = 'disabled' where principal_id = ${principalId}`,
      ],
      [
        'principal_not_active',
        ({ principalId }) => sql`update principals set status = 'paused' where id = ${principalId}`,
      ],
    ];
    for (const [reason, breakIt] of cases) {
      const { tenantId, principalId, token, credential } = await makeBearer(identity);
      await identity.pool.run(breakIt({ tenantId, principalId, id: credential.id }));
      const { status, body } = await exchange(token, { audience: 'unknown' });
      assert.deepEqual([status, body], [401, { detail: 'invalid_token' }], reason);
      const denied = (await auditOf(identity, tenantId)).at(-1);
      assert.deepEqual(
        [denied?.action, denied?.actor_ref, denied?.outcome, denied?.reason],
        [
          'platform_access_tokens.exchange',
          principalId,
          'denied',
          `pat:${credential.publicPrefix} ${reason}`,
        ],
      );
    }
  });

  test('unknown, altered and foreign texts are refused without an audit row', async () => {
    const { token } = await makeBearer(identity);
    const { accessToken } = await made(exchange(token));
    const prefix = token.slice(0, 21);
    const before = await storeCounts(identity);
    for (const text of [
      'x',
      accessToken,
      'iam_pat_',
      prefix,
      `${prefix}${'a'.repeat(43)}`,
      token.toUpperCase(),
      ` ${token}`,
      `${token} `,
      token.replace('iam_pat_', 'cp_'),
      `iam_pat_${randomUUID().slice(-12)}_${'a'.repeat(43)}`,
      `cp_${randomUUID().slice(-12)}_x`,
    ]) {
      const { status, body } = await exchange(text);
      assert.deepEqual([status, body], [401, { detail: 'invalid_token' }], text);
    }
    assert.deepEqual(await storeCounts(identity), before);
    assert.ok(identity.logged.some((line) => line.includes(`pat:${prefix.slice(8, 20)} wrong_secret`)));
    assert.ok(identity.logged.some((line) => line.includes('unknown_prefix')));
  });

  test('a token is not accepted as a bearer token', async () => {
    const { tenantId, token } = await makeBearer(identity);
    const path = `/api/v1/tenants/${tenantId}/audiences`;
    const { status, body } = await identity.request('GET', path, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.deepEqual([status, body], [401, { detail: 'unauthorized' }]);
  });

  test('tenant and principal are no fields', async () => {
    const { tenantId, principalId, token } = await makeBearer(identity);
    for (const more of [
      { tenantId },
      { principalId },
      { scope: [] },
      { audience: '' },
      { audience: 'x'.repeat(121) },
    ])
      assert.equal((await exchange(token, more)).status, 422);
    assert.equal((await exchange('')).status, 422);
  });
});
