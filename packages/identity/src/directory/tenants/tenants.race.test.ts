import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { byDepth, raceRounds } from '@baton/testing/depth';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeAudience, makePrincipal, makeTenant } from '../../testing/objects.ts';
import { auditOf, journalOf } from '../../testing/records.ts';

let identity: TestIdentity;
let other: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  other = await identity.another();
});
after(() => identity.close());

const change = (service: TestIdentity, tenantId: string, changes: object) =>
  service.patch(`/tenants/${tenantId}`, changes);
const updatesOf = async (tenantId: string) =>
  (await journalOf(identity, tenantId)).filter(({ type }) => type === 'tenant.updated');

test('a new name and a new status at the same time both stay, with an event each', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const tenantId = await makeTenant(identity);
    const answers = await Promise.all([
      change(identity, tenantId, { name: 'New name' }),
      change(other, tenantId, { status: 'disabled' }),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    const { body } = await identity.get(`/tenants/${tenantId}`);
    assert.deepEqual([body.name, body.status], ['New name', 'disabled']);
    assert.equal((await updatesOf(tenantId)).length, 2);
  }
});

test('of many equal changes at the same time, one is recorded', async () => {
  const tenantId = await makeTenant(identity);
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      change(n % 2 === 0 ? identity : other, tenantId, { status: 'disabled' }),
    ),
  );
  for (const { status, body } of answers) assert.deepEqual([status, body.status], [200, 'disabled']);
  assert.equal((await updatesOf(tenantId)).length, 1);
  const updates = (await auditOf(identity, tenantId)).filter(({ action }) => action === 'tenants.update');
  assert.equal(updates.length, 1);
});

test('disabling while tokens are issued: none of them works while the tenant is disabled', async () => {
  for (let round = 0; round < byDepth(10, 200); round += 1) {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId);
    const principalId = await makePrincipal(identity, tenantId);
    const issue = (service: TestIdentity) =>
      service.post(
        `/tenants/${tenantId}/principals/${principalId}/platform-access-tokens`,
        { name: 'beside', audiences: ['control-plane'] },
        { 'idempotency-key': randomUUID() },
      );
    const [disabled, ...issued] = await Promise.all([
      change(other, tenantId, { status: 'disabled' }),
      ...Array.from({ length: 6 }, (_, n) => issue(n % 2 === 0 ? identity : other)),
    ]);
    assert.equal(disabled.status, 200);
    const tokens = issued.flatMap(({ status, body }) => (status === 201 ? [body.token as string] : []));
    for (const { status, body } of issued)
      assert.ok(status === 201 || body.detail === 'tenant_not_found', `${status} ${body.detail}`);
    const present = (verb: string, token: string) =>
      identity.request('POST', `/api/v1/platform-access-tokens:${verb}`, {
        body: verb === 'exchange' ? { token, audience: 'control-plane' } : { token },
      });
    for (const token of tokens)
      for (const verb of ['exchange', 'introspect', 'revoke-self'])
        assert.equal((await present(verb, token)).status, 401);
    await change(identity, tenantId, { status: 'active' });
    for (const token of tokens) assert.equal((await present('exchange', token)).status, 200);
  }
});
