import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makeBearer } from '../../testing/objects.ts';
import { auditOf, journalOf, journalTypes, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

const introspect = (token: string) =>
  identity.request('POST', '/api/v1/platform-access-tokens:introspect', { body: { token } });
const revokeSelf = (body: object) =>
  identity.request('POST', '/api/v1/platform-access-tokens:revoke-self', { body });

async function readCredential(tenantId: string) {
  return (await identity.get(`/tenants/${tenantId}/platform-access-tokens?includeRevoked=true`)).body[0];
}

describe(':introspect', () => {
  test("returns the metadata of a token, needs no signing key, and doesn't change its last use", async () => {
    const { tenantId, principalId, token, credential } = await makeBearer(identity);
    const { status, body } = await introspect(token);
    assert.equal(status, 200);
    assert.deepEqual(body, {
      tenantId,
      principalId,
      principalKind: 'agent',
      displayName: 'A agent',
      credentialId: credential.id,
      name: credential.name,
      publicPrefix: credential.publicPrefix,
      audiences: credential.audiences,
      scopeCeiling: credential.scopeCeiling,
      expiresAt: credential.expiresAt,
      issuedAt: credential.createdAt,
    });
    assert.equal((await readCredential(tenantId)).lastUsedAt, null);
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.outcome, audited?.reason],
      ['platform_access_tokens.introspect', principalId, 'allowed', `pat:${credential.publicPrefix}`],
    );
  });

  test('a dead token is 401, denied in the audit log; an unknown one leaves no trace there', async () => {
    const { tenantId, token, credential } = await makeBearer(identity);
    await identity.post(`/tenants/${tenantId}/platform-access-tokens/${credential.id}:revoke`);
    const { status, body } = await introspect(token);
    assert.deepEqual([status, body], [401, { detail: 'invalid_token' }]);
    const denied = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [denied?.action, denied?.outcome, denied?.reason],
      ['platform_access_tokens.introspect', 'denied', `pat:${credential.publicPrefix} credential_revoked`],
    );
    const before = await storeCounts(identity);
    assert.equal((await introspect('unknown')).status, 401);
    assert.deepEqual(await storeCounts(identity), before);
  });
});

describe(':revoke-self', () => {
  test('revokes the token presented, its principal being the actor; repeating it is 401', async () => {
    const { tenantId, principalId, token, credential } = await makeBearer(identity);
    const first = await revokeSelf({ token });
    assert.deepEqual([first.status, first.body], [204, '']);
    assert.equal((await readCredential(tenantId)).revokeReason, 'logout');
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual([event.type, event.payload.reason], ['credential.revoked', 'logout']);
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.reason],
      ['platform_access_tokens.revoke', principalId, `pat:${credential.publicPrefix} reason:logout`],
    );
    const events = await journalTypes(identity, tenantId);
    const again = await revokeSelf({ token, reason: 'again' });
    assert.deepEqual([again.status, again.body], [401, { detail: 'invalid_token' }]);
    assert.deepEqual(await journalTypes(identity, tenantId), events);
    const denied = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [denied?.action, denied?.outcome, denied?.reason],
      ['platform_access_tokens.revoke', 'denied', `pat:${credential.publicPrefix} credential_revoked`],
    );
  });

  test('takes a reason of at most 200 characters', async () => {
    const { tenantId, token } = await makeBearer(identity);
    assert.equal((await revokeSelf({ token, reason: 'x'.repeat(201) })).status, 422);
    assert.equal((await revokeSelf({ token, reason: 'done here' })).status, 204);
    assert.equal((await readCredential(tenantId)).revokeReason, 'done here');
  });

  test('an unknown token and one of a closed tenant are 401', async () => {
    const { tenantId, token } = await makeBearer(identity);
    assert.equal((await revokeSelf({ token: `${token}x` })).body.detail, 'invalid_token');
    await identity.pool.run(sql`update tenants set status = 'disabled' where id = ${tenantId}`);
    assert.equal((await revokeSelf({ token })).body.detail, 'invalid_token');
    assert.equal((await readCredential(tenantId)).revokedAt, null);
  });
});
