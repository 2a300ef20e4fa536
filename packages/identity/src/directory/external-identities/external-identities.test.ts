import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makePrincipal, makeTenant } from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';

describe('POST …/external-identities', () => {
  let identity: TestIdentity;
  before(async () => {
    identity = await startIdentity();
  });
  after(() => identity.close());

  const link = (tenantId: string, principalId: string, body: object) =>
    identity.post(`/tenants/${tenantId}/principals/${principalId}/external-identities`, body);

  async function registerProvider(tenantId: string, issuer: string, profile: string, status = 'active') {
    await identity.pool.run(sql`
      insert into identity_providers (id, tenant_id, key, issuer, registered_issuer, audience, lifecycle_profile, status)
      values (${randomUUID()}, ${tenantId}, ${`p-${randomUUID()}`}, ${issuer}, ${issuer}, 'baton', ${profile}, ${status})`);
  }

  test('links a principal of any kind and status; the event holds no subject', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makePrincipal(identity, tenantId, 'workload');
    await identity.pool.run(sql`update principals set status = 'disabled' where id = ${principalId}`);
    const subject = `subject-${randomUUID()}`;
    const { status, body } = await link(tenantId, principalId, { issuer: 'https://idp.example/', subject });
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), ['id', 'principal_id', 'issuer', 'subject', 'status', 'created_at']);
    assert.deepEqual(
      [body.principal_id, body.issuer, body.subject, body.status],
      [principalId, 'https://idp.example/', subject, 'active'],
    );
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.aggregate_type, event.payload],
      ['external_identity.linked', 'external_identity', { externalIdentityId: body.id, principalId }],
    );
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.outcome, audited?.resource_type, audited?.resource_id],
      ['external_identities.link', 'allowed', 'external_identity', body.id],
    );
    assert.ok(!JSON.stringify([event, audited]).includes(subject));
  });

  test('an unknown principal is 404, denied in the audit log of a known tenant', async () => {
    const tenantId = await makeTenant(identity);
    const request = { issuer: 'https://idp.example', subject: randomUUID() };
    const principalId = randomUUID();
    const { status, body } = await link(tenantId, principalId, request);
    assert.deepEqual([status, body], [404, { detail: 'principal_not_found' }]);
    const denied = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [denied?.action, denied?.outcome, denied?.resource_type, denied?.resource_id],
      ['external_identities.link', 'denied', 'principal', principalId],
    );
    const before = await storeCounts(identity);
    assert.equal((await link(randomUUID(), principalId, request)).status, 404);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('refuses to link people of an active read-only provider, whatever slashes end the issuer', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makePrincipal(identity, tenantId, 'human');
    await registerProvider(tenantId, 'https://read-only.example', 'read_only');
    await registerProvider(tenantId, 'https://managed.example', 'managed');
    await registerProvider(tenantId, 'https://switched-off.example', 'read_only', 'disabled');
    for (const issuer of ['https://read-only.example', 'https://read-only.example//']) {
      const { status, body } = await link(tenantId, principalId, { issuer, subject: randomUUID() });
      assert.deepEqual([status, body], [409, { detail: 'identity_provider_managed' }]);
    }
    for (const issuer of [
      'https://managed.example',
      'https://switched-off.example',
      'https://unknown.example',
    ])
      assert.equal((await link(tenantId, principalId, { issuer, subject: randomUUID() })).status, 201);
    const elsewhere = await makeTenant(identity);
    const stranger = await makePrincipal(identity, elsewhere, 'human');
    const request = { issuer: 'https://read-only.example', subject: randomUUID() };
    assert.equal((await link(elsewhere, stranger, request)).status, 201);
  });

  test('a subject is linked once in all tenants, also when sixteen try at the same time', async () => {
    const tenants = await Promise.all([makeTenant(identity), makeTenant(identity)]);
    const people = await Promise.all(tenants.map((tenantId) => makePrincipal(identity, tenantId, 'human')));
    const subject = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        link(tenants[n % 2] as string, people[n % 2] as string, {
          issuer: n % 3 === 0 ? 'https://one.example/' : 'https://one.example',
          subject,
        }),
      ),
    );
    const outcomes = answers.map(({ status, body }) => (status === 201 ? 'linked' : body.detail)).sort();
    assert.deepEqual(outcomes, [...Array(15).fill('external_identity_exists'), 'linked']);
  });

  test('issuer and subject have 1 to 500 characters', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makePrincipal(identity, tenantId);
    const good = { issuer: 'i', subject: 's' };
    for (const bad of [
      { issuer: '' },
      { subject: '' },
      { issuer: 'x'.repeat(501) },
      { subject: 'x'.repeat(501) },
    ])
      assert.equal((await link(tenantId, principalId, { ...good, ...bad })).status, 422);
  });

  test('what is too long for the index in bytes is refused by form, not by a failure', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makePrincipal(identity, tenantId);
    const manyBytes = () =>
      Array.from({ length: 500 }, () =>
        String.fromCodePoint(0x1f000 + Math.floor(Math.random() * 3000)),
      ).join('');
    const { status, body } = await link(tenantId, principalId, { issuer: manyBytes(), subject: manyBytes() });
    assert.deepEqual([status, body.detail[0].loc], [422, ['body', 'subject']]);
    const longest = { issuer: 'x'.repeat(500), subject: manyBytes() };
    assert.equal((await link(tenantId, principalId, longest)).status, 201);
  });
});
