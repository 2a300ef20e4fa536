import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import {
  adminScope,
  made,
  makeAudience,
  makePrincipal,
  makeTenant,
  readScope,
} from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';

/** A key as the former control plane created it, and its imported metadata. */
function makeLegacyKey() {
  const keyPrefix = randomBytes(6).toString('hex');
  const key = `cp_${keyPrefix}_${randomBytes(24).toString('base64url')}`;
  return { key, keyPrefix, keyHash: createHash('sha256').update(key).digest('hex') };
}

describe('POST …/legacy-credentials:import', () => {
  let identity: TestIdentity;
  before(async () => {
    identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  });
  after(() => identity.close());

  async function makeOwner(kind = 'workload') {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId);
    return { tenantId, principalId: await makePrincipal(identity, tenantId, kind) };
  }

  function requestOf(principalId: string, changes: object = {}) {
    const { keyPrefix, keyHash } = makeLegacyKey();
    const base = { principalId, name: 'old key', keyPrefix, keyHash, audience: 'control-plane' };
    return { ...base, scopeCeiling: [readScope], expiresInSeconds: 3600, ...changes };
  }

  const importKey = (tenantId: string, body: object) =>
    identity.post(`/tenants/${tenantId}/legacy-credentials:import`, body);

  test('lets the key of a principal of any kind be exchanged, in either case of its digits', async () => {
    const { tenantId, principalId } = await makeOwner();
    const { key, keyPrefix, keyHash } = makeLegacyKey();
    const { status, body } = await importKey(
      tenantId,
      requestOf(principalId, { keyPrefix: keyPrefix.toUpperCase(), keyHash: keyHash.toUpperCase() }),
    );
    assert.equal(status, 201);
    assert.deepEqual(
      [body.kind, body.publicPrefix, body.audiences, body.scopeCeiling, body.rotatedFromId],
      ['legacy_control_plane_api_key', keyPrefix, ['control-plane'], [readScope], null],
    );
    assert.equal(Date.parse(body.expiresAt) - Date.parse(body.createdAt), 3_600_000);
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.aggregate_type],
      ['legacy_credential.imported', 'platform_access_token'],
    );
    assert.deepEqual(event.payload, {
      credentialId: body.id,
      principalId,
      publicPrefix: keyPrefix,
      kind: 'legacy_control_plane_api_key',
      audiences: ['control-plane'],
    });
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.reason],
      ['legacy_credentials.import', `legacy:${keyPrefix}`],
    );
    const exchanged = await identity.post('/platform-access-tokens:exchange', {
      token: key,
      audience: 'control-plane',
    });
    assert.deepEqual([exchanged.status, exchanged.body.scope], [200, [readScope]]);
    const { scope, client_id } = decodeJwt(exchanged.body.accessToken);
    assert.deepEqual([scope, client_id], [readScope, keyPrefix]);
    const wrong = await identity.post('/platform-access-tokens:exchange', {
      token: `${key}x`,
      audience: 'control-plane',
    });
    assert.equal(wrong.status, 401);
  });

  test('its successor is an ordinary token that can be exchanged', async () => {
    const { tenantId, principalId } = await makeOwner();
    const { id } = await made(importKey(tenantId, requestOf(principalId)));
    const path = `/tenants/${tenantId}/platform-access-tokens/${id}:rotate`;
    const { credential, token } = await made(identity.post(path, {}, { 'idempotency-key': randomUUID() }));
    assert.equal(credential.kind, 'platform_access_token');
    const exchanged = await identity.post('/platform-access-tokens:exchange', {
      token,
      audience: 'control-plane',
    });
    assert.equal(exchanged.status, 200);
  });

  test('the checks run in the documented order', async () => {
    const { tenantId, principalId } = await makeOwner();
    const paused = await makePrincipal(identity, tenantId);
    await identity.pool.run(sql`update principals set status = 'paused' where id = ${paused}`);
    const bad = {
      keyHash: 'g'.repeat(64),
      expiresInSeconds: 7_776_001,
      audience: 'unknown',
      scopeCeiling: [adminScope],
    };
    const hash = 'a'.repeat(64);
    const refused = async (
      [status, detail]: [number, string],
      tenant: string,
      principal: string,
      body: object,
    ) => {
      const answer = await importKey(tenant, requestOf(principal, { ...bad, ...body }));
      assert.deepEqual([answer.status, answer.body], [status, { detail }]);
    };
    const before = await storeCounts(identity);
    const nobody = randomUUID();
    await refused([422, 'invalid_credential_material'], randomUUID(), nobody, {});
    await refused([422, 'invalid_credential_material'], randomUUID(), nobody, {
      keyHash: hash,
      keyPrefix: 'x'.repeat(12),
    });
    await refused([422, 'compatibility_window_too_long'], randomUUID(), nobody, { keyHash: hash });
    const fit = { keyHash: hash, expiresInSeconds: 7_776_000 };
    await refused([404, 'tenant_not_found'], randomUUID(), nobody, fit);
    await refused([404, 'principal_not_found'], tenantId, nobody, fit);
    await refused([409, 'principal_not_active'], tenantId, paused, fit);
    await refused([422, 'unknown_audience'], tenantId, principalId, fit);
    await identity.patch(`/tenants/${tenantId}/audiences/control-plane`, { allowedScopes: [readScope] });
    await refused([422, 'invalid_scope_ceiling'], tenantId, principalId, {
      ...fit,
      audience: 'control-plane',
    });
    const counted = (await storeCounts(identity)) as { tokens: number };
    assert.equal(counted.tokens, (before as { tokens: number }).tokens);
  });

  test('a prefix or a hash that is taken is 409, also in another tenant', async () => {
    const [first, second] = [await makeOwner(), await makeOwner()];
    const request = requestOf(first.principalId);
    await made(importKey(first.tenantId, request));
    const { keyPrefix, keyHash } = request;
    for (const changes of [{ keyPrefix, keyHash }, { keyPrefix }, { keyHash }]) {
      const { status, body } = await importKey(second.tenantId, requestOf(second.principalId, changes));
      assert.deepEqual([status, body], [409, { detail: 'credential_exists' }]);
    }
  });

  test('the key itself is no field, and the lengths are exact', async () => {
    const { tenantId, principalId } = await makeOwner();
    for (const bad of [
      { key: 'cp_secret' },
      { keyPrefix: 'abc' },
      { keyHash: 'abc' },
      { expiresInSeconds: 59 },
      { expiresInSeconds: undefined },
      { audience: '' },
      { audience: 'x'.repeat(121) },
    ]) {
      const { status, body } = await importKey(tenantId, requestOf(principalId, bad));
      assert.ok(status === 422 && Array.isArray(body.detail), JSON.stringify(bad));
    }
  });
});
