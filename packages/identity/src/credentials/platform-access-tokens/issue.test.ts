import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { clashTokensNamed } from '../../testing/clash.ts';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import {
  adminScope,
  made,
  makeAudience,
  makePrincipal,
  makeTenant,
  makeToken,
  readScope,
  signIn,
  writeScope,
} from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_PAT_MAX_TTL_SECONDS: '31536000' });
});
after(() => identity.close());

const wanted = { name: 'laptop', audiences: ['control-plane'], scopeCeiling: [readScope] };

function issue(
  tenantId: string,
  principalId: string,
  body: object = wanted,
  key: string = randomUUID(),
  by: TestIdentity = identity,
) {
  const path = `/tenants/${tenantId}/principals/${principalId}/platform-access-tokens`;
  return by.post(path, body, { 'idempotency-key': key });
}

async function makeOwner(kind = 'agent') {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  return { tenantId, principalId: await makePrincipal(identity, tenantId, kind) };
}

describe('issuing a token', () => {
  test('shows the secret once, with an event and an audit row that name its public prefix only', async () => {
    const { tenantId, principalId } = await makeOwner();
    const body = { ...wanted, scopeCeiling: [writeScope, readScope, writeScope] };
    const { status, body: issued, headers } = await issue(tenantId, principalId, body);
    assert.equal(status, 201);
    assert.equal(headers.get('idempotency-replayed'), null);
    const { credential, token } = issued;
    assert.match(token, /^iam_pat_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/);
    assert.equal(token.length, 64);
    assert.deepEqual(Object.keys(credential), [
      'id',
      'tenantId',
      'principalId',
      'name',
      'kind',
      'publicPrefix',
      'audiences',
      'scopeCeiling',
      'createdAt',
      'expiresAt',
      'lastUsedAt',
      'revokedAt',
      'revokeReason',
      'rotatedFromId',
    ]);
    const { id, publicPrefix, createdAt, expiresAt, ...rest } = credential;
    assert.equal(token.split('_')[2], publicPrefix);
    assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 2_592_000_000);
    assert.deepEqual(rest, {
      tenantId,
      principalId,
      name: 'laptop',
      kind: 'platform_access_token',
      audiences: ['control-plane'],
      scopeCeiling: [readScope, writeScope],
      lastUsedAt: null,
      revokedAt: null,
      revokeReason: '',
      rotatedFromId: null,
    });
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.aggregate_type, event.aggregate_id],
      ['platform_access_token.issued', 'platform_access_token', id],
    );
    assert.deepEqual(event.payload, {
      credentialId: id,
      principalId,
      publicPrefix,
      kind: 'platform_access_token',
      audiences: ['control-plane'],
    });
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.resource_id, audited?.reason],
      ['platform_access_tokens.issue', id, `pat:${publicPrefix} principal:${principalId}`],
    );
  });

  test('has the requested lifetime, at least 60 seconds, at most the maximum; an empty ceiling is legal', async () => {
    const { tenantId, principalId } = await makeOwner();
    for (const expiresInSeconds of [60, 31_536_000]) {
      const { body } = await issue(tenantId, principalId, { ...wanted, scopeCeiling: [], expiresInSeconds });
      const { createdAt, expiresAt } = body.credential;
      assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), expiresInSeconds * 1000);
    }
    const absent = { ...wanted, expiresInSeconds: null };
    assert.equal((await issue(tenantId, principalId, absent)).status, 201);
    for (const expiresInSeconds of [59, 60.5, '60'])
      assert.equal(
        (await issue(tenantId, principalId, { ...wanted, expiresInSeconds })).body.detail[0].loc[1],
        'expiresInSeconds',
      );
    const tooLong = await issue(tenantId, principalId, { ...wanted, expiresInSeconds: 31_536_001 });
    assert.deepEqual([tooLong.status, tooLong.body], [422, { detail: 'expiry_too_long' }]);
  });

  test('the default life is never longer than the maximum', async () => {
    const short = await identity.another({ IAM_PAT_MAX_TTL_SECONDS: '120' });
    const { tenantId, principalId } = await makeOwner();
    const { credential } = await makeToken(short, tenantId, principalId);
    assert.equal(Date.parse(credential.expiresAt) - Date.parse(credential.createdAt), 120_000);
  });

  test('the checks run in the documented order', async () => {
    const { tenantId, principalId: agent } = await makeOwner();
    const human = await makePrincipal(identity, tenantId, 'human');
    const [workload, account] = [
      await makePrincipal(identity, tenantId, 'workload'),
      await makePrincipal(identity, tenantId, 'service_account'),
    ];
    const paused = await makePrincipal(identity, tenantId, 'workload');
    await identity.pool.run(sql`update principals set status = 'paused' where id = ${paused}`);
    const tired = await makePrincipal(identity, tenantId, 'human');
    await signIn(identity, tenantId, tired);
    await identity.pool.run(
      sql`update authentication_contexts set recorded_at = now() - interval '301 seconds' where principal_id = ${tired}`,
    );
    const bad = {
      name: 'x',
      audiences: ['unknown'],
      scopeCeiling: ['unknown'],
      expiresInSeconds: 40_000_000,
    };
    const refused = async (
      [status, detail]: [number, string],
      [tenant, principal]: [string, string],
      body: object = bad,
      key?: string,
    ) => {
      const answer = await issue(tenant, principal, body, key);
      assert.deepEqual([answer.status, answer.body], [status, { detail }]);
    };
    const closed = await makeOwner();
    await identity.pool.run(sql`update tenants set status = 'disabled' where id = ${closed.tenantId}`);
    const before = await storeCounts(identity);

    assert.ok(
      Array.isArray((await issue(tenantId, agent, { name: '' }, '')).body.detail),
      'the form comes first',
    );
    await refused([400, 'idempotency_key_required'], [randomUUID(), agent], bad, '   ');
    await refused([404, 'tenant_not_found'], [randomUUID(), agent]);
    await refused([404, 'tenant_not_found'], [closed.tenantId, closed.principalId]);
    await refused([404, 'principal_not_found'], [tenantId, randomUUID()]);
    await refused([409, 'principal_not_active'], [tenantId, paused]);
    await refused([422, 'principal_kind_not_allowed'], [tenantId, workload]);
    await refused([422, 'principal_kind_not_allowed'], [tenantId, account]);
    await refused([403, 'authentication_context_required'], [tenantId, human]);
    await refused([403, 'authentication_context_expired'], [tenantId, tired]);
    await refused([422, 'unknown_audience'], [tenantId, agent]);
    await refused([422, 'invalid_scope_ceiling'], [tenantId, agent], {
      ...bad,
      audiences: ['control-plane'],
    });
    const tooLong = { ...bad, audiences: ['control-plane'], scopeCeiling: [adminScope] };
    await refused([422, 'expiry_too_long'], [tenantId, agent], tooLong);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('a key has at most 200 characters', async () => {
    const { tenantId, principalId } = await makeOwner();
    assert.equal((await issue(tenantId, principalId, wanted, 'k'.repeat(200))).status, 201);
    const { status, body } = await issue(tenantId, principalId, wanted, 'k'.repeat(201));
    assert.equal(status, 422);
    assert.deepEqual(body.detail[0].loc, ['header', 'Idempotency-Key']);
  });

  test('a human needs a sign-in of any source that is not too old', async () => {
    const { tenantId, principalId } = await makeOwner('human');
    await signIn(identity, tenantId, principalId);
    assert.equal((await issue(tenantId, principalId)).status, 201);
    await identity.pool.run(
      sql`update authentication_contexts set recorded_at = now() - interval '10 days', source = 'federation' where principal_id = ${principalId}`,
    );
    assert.equal((await issue(tenantId, principalId)).body.detail, 'authentication_context_expired');
    await signIn(identity, tenantId, principalId, { authTime: '2020-01-01T00:00:00Z' });
    assert.equal(
      (await issue(tenantId, principalId)).status,
      201,
      'the time of the recording counts, not the given time',
    );
  });

  test("the ceiling can't exceed what all listed audiences allow together", async () => {
    const { tenantId, principalId } = await makeOwner();
    await makeAudience(identity, tenantId, 'memory-service', ['memory:read']);
    const audiences = ['memory-service', 'control-plane'];
    const both = { ...wanted, audiences, scopeCeiling: ['memory:read', readScope] };
    const { body } = await issue(tenantId, principalId, both);
    assert.deepEqual(body.credential.audiences, ['control-plane', 'memory-service']);
    const one = await issue(tenantId, principalId, { ...both, audiences: ['control-plane'] });
    assert.equal(one.body.detail, 'invalid_scope_ceiling');
  });
});

describe('a key that is used again', () => {
  test('repeats the credential as it is now, without the secret, whatever has changed since', async () => {
    const { tenantId, principalId } = await makeOwner();
    const key = randomUUID();
    const first = await made(issue(tenantId, principalId, wanted, key));
    await identity.post(
      `/tenants/${tenantId}/platform-access-tokens/${first.credential.id}:revoke?reason=lost`,
    );
    await identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`);
    await identity.pool.run(sql`update tenants set status = 'disabled' where id = ${tenantId}`);
    const before = await storeCounts(identity);
    const again = await issue(tenantId, principalId, wanted, ` ${key} `);
    assert.equal(again.status, 201);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.equal(again.body.token, null);
    const { revokedAt, revokeReason, ...rest } = again.body.credential;
    assert.ok(revokedAt !== null && revokeReason === 'lost');
    assert.deepEqual({ ...rest, revokedAt: null, revokeReason: '' }, first.credential);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('lists in another order and absent defaults are the same request', async () => {
    const { tenantId, principalId } = await makeOwner();
    const key = randomUUID();
    const scopeCeiling = [readScope, writeScope];
    const first = await made(issue(tenantId, principalId, { ...wanted, scopeCeiling }, key));
    const same = {
      scopeCeiling: [writeScope, readScope, readScope],
      audiences: wanted.audiences,
      name: wanted.name,
    };
    for (const again of [same, { ...same, expiresInSeconds: null }])
      assert.equal((await made(issue(tenantId, principalId, again, key))).credential.id, first.credential.id);
  });

  test('for another body, another principal or another route it is refused; another tenant has its own keys', async () => {
    const { tenantId, principalId } = await makeOwner();
    const key = randomUUID();
    const { credential } = await made(issue(tenantId, principalId, wanted, key));
    const other = await makePrincipal(identity, tenantId);
    const rotate = identity.post(
      `/tenants/${tenantId}/platform-access-tokens/${credential.id}:rotate`,
      {},
      {
        'idempotency-key': key,
      },
    );
    for (const answer of [
      await issue(tenantId, principalId, { ...wanted, name: 'other' }, key),
      await issue(tenantId, other, wanted, key),
      await rotate,
    ])
      assert.deepEqual([answer.status, answer.body], [409, { detail: 'idempotency_key_reused' }]);
    const elsewhere = await makeOwner();
    assert.equal((await issue(elsewhere.tenantId, elsewhere.principalId, wanted, key)).status, 201);
  });
});

test('a clash with another token is 409 credential_conflict, and a new try with the same key succeeds', async () => {
  const { tenantId, principalId } = await makeOwner();
  await issue(tenantId, principalId);
  await clashTokensNamed(identity, 'clash');
  const key = randomUUID();
  const body = { ...wanted, name: 'clash' };
  const { status, body: refused } = await issue(tenantId, principalId, body, key);
  assert.deepEqual([status, refused], [409, { detail: 'credential_conflict' }]);
  await identity.pool.run({ text: 'drop trigger clash on platform_access_tokens', values: [] });
  assert.equal((await issue(tenantId, principalId, body, key)).status, 201);
});
