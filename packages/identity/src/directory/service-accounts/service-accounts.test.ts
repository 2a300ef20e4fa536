import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import {
  made,
  makeAudience,
  makeServiceAccount,
  makeTenant,
  readScope,
  writeScope,
} from '../../testing/objects.ts';
import { auditOf, journalOf, journalTypes, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

async function makeTenantWithAudience(): Promise<string> {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  return tenantId;
}

const pathOf = (tenantId: string, clientId: string) => `/tenants/${tenantId}/service-accounts/${clientId}`;

describe('POST …/service-accounts', () => {
  test('makes a principal with client credentials; the secret is shown once and no principal.created is written', async () => {
    const tenantId = await makeTenantWithAudience();
    await makeAudience(identity, tenantId, 'memory-service', []);
    const { status, body } = await identity.post(`/tenants/${tenantId}/service-accounts`, {
      displayName: 'Memory',
      audiences: ['memory-service', 'control-plane', 'memory-service'],
      scopeCeiling: ['not:registered'],
    });
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), ['principalId', 'clientId', 'clientSecret']);
    assert.match(body.clientId, /^iam_sa_[A-Za-z0-9_-]{24}$/);
    assert.match(body.clientSecret, /^[A-Za-z0-9_-]{43}$/);
    const { body: principal } = await identity.get(`/tenants/${tenantId}/principals/${body.principalId}`);
    assert.deepEqual([principal.kind, principal.display_name], ['service_account', 'Memory']);
    assert.ok(!(await journalTypes(identity, tenantId)).includes('principal.created'));
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual([event.type, event.aggregate_type], ['service_account.created', 'service_account']);
    assert.deepEqual(event.payload, {
      serviceAccountId: event.aggregate_id,
      principalId: body.principalId,
      audiences: ['control-plane', 'memory-service'],
    });
    assert.equal((await auditOf(identity, tenantId)).at(-1)?.action, 'service_accounts.create');
  });

  test('a key that is no active audience of the tenant is refused, and an unknown tenant answers the same', async () => {
    const tenantId = await makeTenantWithAudience();
    await makeAudience(identity, tenantId, 'switched-off');
    await identity.pool.run(
      sql`update audiences set status = 'disabled' where tenant_id = ${tenantId} and key = 'switched-off'`,
    );
    const before = await storeCounts(identity);
    for (const [tenant, audiences] of [
      [tenantId, ['control-plane', 'unknown']],
      [tenantId, ['switched-off']],
      [randomUUID(), ['control-plane']],
    ] as const) {
      const { status, body } = await identity.post(`/tenants/${tenant}/service-accounts`, {
        displayName: 'x',
        audiences,
      });
      assert.deepEqual([status, body], [422, { detail: 'unknown_audience' }]);
    }
    const none = await identity.post(`/tenants/${tenantId}/service-accounts`, {
      displayName: 'x',
      audiences: [],
    });
    assert.equal(none.body.detail[0].loc.join('.'), 'body.audiences');
    assert.deepEqual(await storeCounts(identity), before);
  });
});

describe('PATCH …/service-accounts/{clientId}', () => {
  test('replaces audiences and ceiling, with an event and the difference in the audit log', async () => {
    const tenantId = await makeTenantWithAudience();
    await makeAudience(identity, tenantId, 'memory-service', ['memory:read']);
    const { clientId, principalId } = await makeServiceAccount(identity, tenantId);
    const patch = { audiences: ['memory-service'], scopeCeiling: ['memory:read'] };
    const { status, body } = await identity.patch(pathOf(tenantId, clientId), patch);
    assert.deepEqual([status, body], [200, { principalId, clientId, ...patch }]);
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.payload],
      ['service_account.updated', { serviceAccountId: event.aggregate_id, principalId, ...patch }],
    );
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.reason],
      [
        'service_accounts.update',
        '+audience:memory-service -audience:control-plane +scope:memory:read -scope:control-plane:read',
      ],
    );
  });

  test('an empty object writes nothing and returns the view', async () => {
    const tenantId = await makeTenantWithAudience();
    const { clientId, principalId } = await makeServiceAccount(identity, tenantId);
    const before = await storeCounts(identity);
    const { status, body } = await identity.patch(pathOf(tenantId, clientId), {});
    const view = { principalId, clientId, audiences: ['control-plane'], scopeCeiling: [readScope] };
    assert.deepEqual([status, body], [200, view]);
    const same = await identity.patch(pathOf(tenantId, clientId), {
      scopeCeiling: [readScope],
      rotateSecret: false,
    });
    assert.deepEqual(same.body, view);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('the state that results is checked, stored values included', async () => {
    const tenantId = await makeTenantWithAudience();
    const { clientId } = await makeServiceAccount(identity, tenantId, {
      scopeCeiling: [readScope, writeScope],
    });
    await identity.patch(`/tenants/${tenantId}/audiences/control-plane`, { allowedScopes: [readScope] });
    for (const patch of [{}, { rotateSecret: true }]) {
      const { status, body } = await identity.patch(pathOf(tenantId, clientId), patch);
      assert.deepEqual([status, body], [422, { detail: 'invalid_scope_ceiling' }]);
    }
    const unknown = await identity.patch(pathOf(tenantId, clientId), { audiences: ['unknown'] });
    assert.deepEqual([unknown.status, unknown.body], [422, { detail: 'unknown_audience' }]);
    assert.equal(
      (await identity.patch(pathOf(tenantId, clientId), { scopeCeiling: [readScope] })).status,
      200,
    );
    await identity.pool.run(sql`update audiences set status = 'disabled' where tenant_id = ${tenantId}`);
    const gone = await identity.patch(pathOf(tenantId, clientId), {});
    assert.deepEqual([gone.status, gone.body], [422, { detail: 'unknown_audience' }]);
  });

  test('a new secret has its own event and audit row', async () => {
    const tenantId = await makeTenantWithAudience();
    const { clientId, clientSecret, principalId } = await makeServiceAccount(identity, tenantId);
    const { body } = await identity.patch(pathOf(tenantId, clientId), { rotateSecret: true });
    assert.deepEqual(Object.keys(body), [
      'principalId',
      'clientId',
      'audiences',
      'scopeCeiling',
      'clientSecret',
    ]);
    assert.match(body.clientSecret, /^[A-Za-z0-9_-]{43}$/);
    assert.notEqual(body.clientSecret, clientSecret);
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.payload],
      ['service_account.secret_rotated', { serviceAccountId: event.aggregate_id, principalId }],
    );
    assert.equal((await auditOf(identity, tenantId)).at(-1)?.action, 'service_accounts.rotate_secret');
  });

  test('an unknown account is 404, also for another tenant; a revoked one 409', async () => {
    const [tenantId, otherId] = [await makeTenantWithAudience(), await makeTenantWithAudience()];
    const { clientId } = await makeServiceAccount(identity, tenantId);
    for (const path of [
      pathOf(tenantId, 'iam_sa_unknown'),
      pathOf(otherId, clientId),
      pathOf(randomUUID(), clientId),
    ]) {
      const { status, body } = await identity.patch(path, { audiences: ['unknown'] });
      assert.deepEqual([status, body], [404, { detail: 'service_account_not_found' }]);
    }
    await made(
      identity.post(`${pathOf(tenantId, clientId)}:revoke`).then(({ body }) => ({ status: 200, body })),
    );
    const { status, body } = await identity.patch(pathOf(tenantId, clientId), { audiences: ['unknown'] });
    assert.deepEqual([status, body], [409, { detail: 'service_account_revoked' }]);
  });
});

describe('POST …/service-accounts/{clientId}:revoke', () => {
  test('revokes once; repeats as 204, changes nothing', async () => {
    const tenantId = await makeTenantWithAudience();
    const { clientId, principalId } = await makeServiceAccount(identity, tenantId);
    const first = await identity.post(`${pathOf(tenantId, clientId)}:revoke`);
    assert.deepEqual([first.status, first.body], [204, '']);
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.aggregate_type, event.payload],
      ['credential.revoked', 'service_account', { serviceAccountId: event.aggregate_id, principalId }],
    );
    assert.equal((await auditOf(identity, tenantId)).at(-1)?.action, 'service_accounts.revoke');
    const before = await storeCounts(identity);
    assert.equal((await identity.post(`${pathOf(tenantId, clientId)}:revoke`)).status, 204);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('an unknown account is 404, also for another tenant', async () => {
    const [tenantId, otherId] = [await makeTenantWithAudience(), await makeTenant(identity)];
    const { clientId } = await makeServiceAccount(identity, tenantId);
    for (const path of [pathOf(tenantId, 'iam_sa_unknown'), pathOf(otherId, clientId)]) {
      const { status, body } = await identity.post(`${path}:revoke`);
      assert.deepEqual([status, body], [404, { detail: 'service_account_not_found' }]);
    }
  });
});
