import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { made, makeAudience, makePrincipal, makeTenant } from '../../testing/objects.ts';
import { auditOf, journalTypes, storeCounts } from '../../testing/records.ts';

describe('POST …/authentication-contexts', () => {
  let identity: TestIdentity;
  before(async () => {
    identity = await startIdentity();
  });
  after(() => identity.close());

  const issuer = 'https://login.example.com';
  const record = (tenantId: string, principalId: string, body: object = { issuer }) =>
    identity.post(`/tenants/${tenantId}/principals/${principalId}/authentication-contexts`, body);

  test('records a sign-in: no event, an audit row', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makePrincipal(identity, tenantId, 'human');
    const events = await journalTypes(identity, tenantId);
    const request = {
      issuer,
      acr: 'urn:mfa',
      amr: ['pwd', 'otp', 'pwd'],
      authTime: '2026-01-02T03:04:05+02:00',
    };
    const { status, body } = await record(tenantId, principalId, request);
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), [
      'id',
      'principalId',
      'issuer',
      'acr',
      'amr',
      'authTime',
      'recordedAt',
      'source',
    ]);
    assert.deepEqual(
      [body.principalId, body.issuer, body.acr, body.amr, body.authTime, body.source],
      [principalId, issuer, 'urn:mfa', ['otp', 'pwd'], '2026-01-02T01:04:05.000Z', 'bootstrap'],
    );
    assert.deepEqual(await journalTypes(identity, tenantId), events);
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.resource_id, audited?.reason],
      ['authentication_contexts.record', body.id, `principal:${principalId} acr:urn:mfa`],
    );
  });

  test('counts in its own tenant only', async () => {
    const [tenantId, elsewhere] = [await makeTenant(identity), await makeTenant(identity)];
    const principalId = await makePrincipal(identity, tenantId, 'human');
    await identity.pool.run(
      sql`insert into memberships (tenant_id, principal_id) values (${elsewhere}, ${principalId})`,
    );
    await made(record(tenantId, principalId));
    for (const [tenant, status] of [
      [elsewhere, 403],
      [tenantId, 201],
    ] as const) {
      await makeAudience(identity, tenant);
      const path = `/tenants/${tenant}/principals/${principalId}/platform-access-tokens`;
      const wanted = { name: 'x', audiences: ['control-plane'] };
      const answer = await identity.post(path, wanted, { 'idempotency-key': tenant });
      assert.equal(answer.status, status, JSON.stringify(answer.body));
    }
  });

  test('null means the same as absent for optional fields', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makePrincipal(identity, tenantId, 'human');
    const nothing = { issuer, acr: null, authTime: null, externalIdentityId: null };
    const { acr, authTime, recordedAt } = await made(record(tenantId, principalId, nothing));
    assert.deepEqual([acr, authTime], [null, recordedAt]);
    assert.equal((await record(tenantId, principalId, { issuer: null })).status, 422);
    assert.equal((await record(tenantId, principalId, { issuer, amr: null })).status, 422);
  });

  test('the time is now by default, and a future time becomes now', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makePrincipal(identity, tenantId, 'human');
    const plain = await made(record(tenantId, principalId));
    assert.equal(plain.authTime, plain.recordedAt);
    assert.deepEqual([plain.acr, plain.amr], [null, []]);
    assert.equal((await auditOf(identity, tenantId)).at(-1)?.reason, `principal:${principalId} acr:none`);
    const future = await made(record(tenantId, principalId, { issuer, authTime: '2099-01-01T00:00:00Z' }));
    assert.equal(future.authTime, future.recordedAt);
    const naive = await made(record(tenantId, principalId, { issuer, authTime: '2026-01-02T03:04:05' }));
    assert.equal(naive.authTime, '2026-01-02T03:04:05.000Z');
  });

  test('the checks run in the documented order', async () => {
    const tenantId = await makeTenant(identity);
    const [person, agent] = [
      await makePrincipal(identity, tenantId, 'human'),
      await makePrincipal(identity, tenantId, 'agent'),
    ];
    const refused = async (
      code: string,
      status: number,
      tenant: string,
      principal: string,
      body?: object,
    ) => {
      const answer = await record(tenant, principal, body);
      assert.deepEqual([answer.status, answer.body], [status, { detail: code }]);
    };
    const before = await storeCounts(identity);
    await refused('tenant_not_found', 404, randomUUID(), person);
    await refused('principal_not_found', 404, tenantId, randomUUID());
    await refused('human_principal_required', 422, tenantId, agent);
    await identity.pool.run(sql`update principals set status = 'paused' where id = ${agent}`);
    await refused('principal_not_active', 409, tenantId, agent);
    await refused('external_identity_not_found', 404, tenantId, person, {
      issuer,
      externalIdentityId: randomUUID(),
    });
    await identity.pool.run(sql`update tenants set status = 'disabled' where id = ${tenantId}`);
    await refused('tenant_not_found', 404, tenantId, randomUUID());
    assert.deepEqual(await storeCounts(identity), before);
  });

  test("an external identity must be the principal's own", async () => {
    const tenantId = await makeTenant(identity);
    const [person, other] = [
      await makePrincipal(identity, tenantId, 'human'),
      await makePrincipal(identity, tenantId, 'human'),
    ];
    const path = `/tenants/${tenantId}/principals/${person}/external-identities`;
    const linked = await made(identity.post(path, { issuer, subject: randomUUID() }));
    const request = { issuer, externalIdentityId: linked.id };
    assert.equal((await record(tenantId, person, request)).status, 201);
    const foreign = await record(tenantId, other, request);
    assert.deepEqual([foreign.status, foreign.body], [404, { detail: 'external_identity_not_found' }]);
  });
});
