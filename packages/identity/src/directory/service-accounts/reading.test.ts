import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeAudience, makeServiceAccount, makeTenant, readScope } from '../../testing/objects.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

async function makeTenantWithAudience(): Promise<string> {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  return tenantId;
}

const listPath = (tenantId: string) => `/tenants/${tenantId}/service-accounts`;

describe('GET …/service-accounts/{clientId}', () => {
  test('shows reach, status and use of an account, and no secret', async () => {
    const tenantId = await makeTenantWithAudience();
    const account = await makeServiceAccount(identity, tenantId);
    const { principalId, clientId, clientSecret } = account;
    const path = `${listPath(tenantId)}/${clientId}`;
    const { body: fresh } = await identity.get(path);
    const { createdAt, ...view } = fresh;
    assert.deepEqual(view, {
      principalId,
      clientId,
      displayName: 'A service',
      audiences: ['control-plane'],
      scopeCeiling: [readScope],
      status: 'active',
      revokedAt: null,
      lastUsedAt: null,
    });
    await made(identity.post('/tokens/exchange', { clientId, clientSecret, audience: 'control-plane' }));
    await identity.post(`${path}:revoke`);
    const { body: revoked } = await identity.get(path);
    assert.equal(revoked.status, 'revoked');
    assert.ok(revoked.revokedAt >= revoked.lastUsedAt && revoked.lastUsedAt >= createdAt);
    assert.ok(!JSON.stringify(revoked).includes(clientSecret));
    assert.deepEqual(Object.keys(revoked).sort(), Object.keys(fresh).sort());
  });

  test('an unknown account is 404, also for another tenant', async () => {
    const [tenantId, otherId] = [await makeTenantWithAudience(), await makeTenant(identity)];
    const { clientId } = await makeServiceAccount(identity, tenantId);
    for (const path of [`${listPath(otherId)}/${clientId}`, `${listPath(tenantId)}/iam_sa_unknown`]) {
      const { status, body } = await identity.get(path);
      assert.deepEqual([status, body], [404, { detail: 'service_account_not_found' }]);
    }
  });
});

describe('GET …/service-accounts', () => {
  test('lists the accounts of the tenant by creation, in pages, as each is read', async () => {
    const [tenantId, otherId] = [await makeTenantWithAudience(), await makeTenantWithAudience()];
    await makeServiceAccount(identity, otherId);
    const accounts: string[] = [];
    for (let count = 0; count < 3; count += 1)
      accounts.push((await makeServiceAccount(identity, tenantId)).clientId);
    await identity.post(`${listPath(tenantId)}/${accounts[1]}:revoke`);
    const first = await made(identity.get(`${listPath(tenantId)}?limit=2`));
    const second = await made(identity.get(`${listPath(tenantId)}?limit=2&after=${first.nextAfter}`));
    const items: { clientId: string; status: string }[] = [...first.items, ...second.items];
    assert.deepEqual(
      items.map(({ clientId, status }) => [clientId, status]),
      [
        [accounts[0], 'active'],
        [accounts[1], 'revoked'],
        [accounts[2], 'active'],
      ],
    );
    assert.equal(second.nextAfter, null);
    assert.deepEqual(second.items[0], (await identity.get(`${listPath(tenantId)}/${accounts[2]}`)).body);
    assert.deepEqual(await made(identity.get(listPath(tenantId))), { items, nextAfter: null });
  });

  test('an unknown tenant is 404; a malformed length or cursor is refused', async () => {
    const { status, body } = await identity.get(listPath(randomUUID()));
    assert.deepEqual([status, body], [404, { detail: 'tenant_not_found' }]);
    for (const query of ['limit=0', 'limit=501', 'after=x'])
      assert.equal((await identity.get(`${listPath(randomUUID())}?${query}`)).status, 422);
  });
});
