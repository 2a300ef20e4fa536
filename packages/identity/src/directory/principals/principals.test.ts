import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import {
  made,
  makeAudience,
  makeBearer,
  makePrincipal,
  makeTenant,
  makeToken,
} from '../../testing/objects.ts';
import { auditActions, auditOf, journalOf, journalTypes, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

describe('POST …/principals', () => {
  test('makes a principal of each kind with an active membership', async () => {
    const tenantId = await makeTenant(identity);
    for (const kind of ['human', 'agent', 'service_account', 'workload']) {
      const request = { kind, displayName: `A ${kind}` };
      const { status, body } = await identity.post(`/tenants/${tenantId}/principals`, request);
      assert.equal(status, 201);
      assert.deepEqual(Object.keys(body), ['id', 'kind', 'display_name', 'status', 'created_at']);
      assert.deepEqual([body.kind, body.display_name, body.status], [kind, `A ${kind}`, 'active']);
      assert.deepEqual((await identity.get(`/tenants/${tenantId}/principals/${body.id}`)).body, body);
      const event = (await journalOf(identity, tenantId)).at(-1);
      assert.deepEqual([event.type, event.payload], ['principal.created', { principalId: body.id, kind }]);
      assert.equal((await auditOf(identity, tenantId)).at(-1)?.resource_id, body.id);
    }
    const actions = await auditActions(identity, tenantId);
    assert.deepEqual(actions.slice(1), Array(4).fill('allowed principals.create'));
  });

  test('an unknown tenant is 404; a disabled one is accepted', async () => {
    const request = { kind: 'agent', displayName: 'x' };
    const before = await storeCounts(identity);
    const unknown = await identity.post(`/tenants/${randomUUID()}/principals`, request);
    assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'tenant_not_found' }]);
    assert.deepEqual(await storeCounts(identity), before);
    const tenantId = await makeTenant(identity);
    await identity.pool.run(sql`update tenants set status = 'disabled' where id = ${tenantId}`);
    assert.equal((await identity.post(`/tenants/${tenantId}/principals`, request)).status, 201);
  });

  test('a kind that does not exist is refused', async () => {
    const tenantId = await makeTenant(identity);
    const request = { kind: 'robot', displayName: 'x' };
    assert.equal((await identity.post(`/tenants/${tenantId}/principals`, request)).status, 422);
  });
});

describe('GET …/principals/{principalId}', () => {
  test('reads a principal of any status while its membership in this tenant is active', async () => {
    const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
    const principalId = await makePrincipal(identity, tenantId);
    const path = `/tenants/${tenantId}/principals/${principalId}`;
    await identity.pool.run(sql`update principals set status = 'paused' where id = ${principalId}`);
    assert.equal((await identity.get(path)).body.status, 'paused');
    for (const elsewhere of [otherId, randomUUID()]) {
      const { status, body } = await identity.get(`/tenants/${elsewhere}/principals/${principalId}`);
      assert.deepEqual([status, body], [404, { detail: 'principal_not_found' }]);
    }
    await identity.pool.run(
      sql`update memberships set status = 'disabled' where principal_id = ${principalId}`,
    );
    assert.equal((await identity.get(path)).status, 404);
  });
});

describe('POST …/principals/{principalId}:disable', () => {
  test('disables it and revokes every token, expired ones and those of other tenants too', async () => {
    const { tenantId, principalId, credential } = await makeBearer(identity);
    const otherId = await makeTenant(identity);
    await makeAudience(identity, otherId);
    await identity.pool.run(
      sql`insert into memberships (tenant_id, principal_id) values (${otherId}, ${principalId})`,
    );
    const elsewhere = (await makeToken(identity, otherId, principalId)).credential;
    const expired = (await makeToken(identity, tenantId, principalId)).credential;
    await identity.pool.run(
      sql`update platform_access_tokens set expires_at = now() - interval '1 day' where id = ${expired.id}`,
    );
    const revoked = (await makeToken(identity, tenantId, principalId)).credential;
    await identity.post(`/tenants/${tenantId}/platform-access-tokens/${revoked.id}:revoke?reason=earlier`);

    const { status, body } = await identity.post(
      `/tenants/${tenantId}/principals/${principalId}:disable?reason=left%20us`,
    );
    assert.deepEqual([status, body], [200, { principalId, status: 'disabled', revokedCredentials: 3 }]);

    const { body: list } = await identity.get(
      `/tenants/${tenantId}/platform-access-tokens?includeRevoked=true`,
    );
    assert.deepEqual(
      list.map(({ id, revokeReason }: { id: string; revokeReason: string }) => [id, revokeReason]),
      [
        [credential.id, 'left us'],
        [expired.id, 'left us'],
        [revoked.id, 'earlier'],
      ],
    );
    const types = await journalTypes(identity, tenantId);
    assert.deepEqual(types.slice(-3), ['credential.revoked', 'credential.revoked', 'principal.disabled']);
    assert.deepEqual((await journalOf(identity, tenantId)).at(-1).payload, {
      principalId,
      revokedCredentials: 3,
    });
    const there = (await journalOf(identity, otherId)).at(-1);
    assert.deepEqual(
      [there.type, there.payload.credentialId, there.payload.reason],
      ['credential.revoked', elsewhere.id, 'left us'],
    );
    const audits = (await auditOf(identity, tenantId)).slice(-3);
    assert.deepEqual(
      audits.map(({ action }) => action),
      ['platform_access_tokens.revoke', 'platform_access_tokens.revoke', 'principals.disable'],
    );
    assert.equal(audits[0]?.reason, `pat:${credential.publicPrefix} reason:left us`);
    assert.equal(audits[2]?.reason, 'left us revoked:3');
  });

  test('repeats as 200 with count 0: no event, an audit row', async () => {
    const { tenantId, principalId } = await makeBearer(identity);
    const path = `/tenants/${tenantId}/principals/${principalId}:disable`;
    assert.equal((await made(identity.post(path))).revokedCredentials, 1);
    const before = await journalTypes(identity, tenantId);
    const again = await identity.post(path);
    assert.deepEqual(again.body, { principalId, status: 'disabled', revokedCredentials: 0 });
    assert.deepEqual(await journalTypes(identity, tenantId), before);
    assert.equal((await auditOf(identity, tenantId)).at(-1)?.reason, 'principal_disabled revoked:0');
  });

  test('an unknown principal is 404, denied in the audit log of a known tenant', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = randomUUID();
    const known = await identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`);
    assert.deepEqual([known.status, known.body], [404, { detail: 'principal_not_found' }]);
    const denied = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [denied?.action, denied?.outcome, denied?.resource_id, denied?.reason],
      ['principals.disable', 'denied', principalId, 'principal_not_found'],
    );
    const before = await storeCounts(identity);
    const nowhere = await identity.post(`/tenants/${randomUUID()}/principals/${principalId}:disable`);
    assert.deepEqual([nowhere.status, nowhere.body], [404, { detail: 'principal_not_found' }]);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('a membership that is not active hides the principal', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makePrincipal(identity, tenantId);
    await identity.pool.run(
      sql`update memberships set status = 'disabled' where principal_id = ${principalId}`,
    );
    assert.equal((await identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`)).status, 404);
  });

  test('a reason of more than 200 characters is refused', async () => {
    const { tenantId, principalId } = await makeBearer(identity);
    const path = `/tenants/${tenantId}/principals/${principalId}:disable?reason=`;
    assert.equal((await identity.post(`${path}${'x'.repeat(201)}`)).status, 422);
    assert.equal((await identity.post(`${path}${'x'.repeat(200)}`)).status, 200);
  });

  test('a token that is issued at the same moment is revoked with the others, or refused', async () => {
    for (let round = 0; round < byDepth(10, 200); round += 1) {
      const { tenantId, principalId } = await makeBearer(identity);
      const issue = () =>
        identity.post(
          `/tenants/${tenantId}/principals/${principalId}/platform-access-tokens`,
          { name: 'x', audiences: ['control-plane'] },
          { 'idempotency-key': randomUUID() },
        );
      const [disabled, ...issued] = await Promise.all([
        identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`),
        ...Array.from({ length: 4 }, issue),
      ]);
      const made = issued.filter(({ status }) => status === 201).length;
      // A 503 is allowed: disabling a principal closes connections that have blocked it for 600 ms, which happens on a
      // slow machine.
      for (const { status, body } of issued)
        assert.ok(
          [201, ...byDepth([503], [])].includes(status) || body.detail === 'principal_not_active',
          JSON.stringify(body),
        );
      assert.equal(disabled.body.revokedCredentials, made + 1);
      const { body: live } = await identity.get(`/tenants/${tenantId}/platform-access-tokens`);
      assert.deepEqual(live, []);
    }
  });
});
