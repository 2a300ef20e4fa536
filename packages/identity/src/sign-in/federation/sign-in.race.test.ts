import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, raceRounds } from '@baton/testing/depth';
import { adminHeader, startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeSource } from '../../testing/provisioning.ts';
import { journalTypes } from '../../testing/records.ts';
import { scimClient } from '../../testing/scim-client.ts';
import { until } from '../../testing/waiting.ts';
import { makeRealm, newSubject, signInBy } from './testing/sign-in.ts';
import { startUpstream, type Upstream } from './testing/upstream.ts';

let identity: TestIdentity;
let other: TestIdentity;
let upstream: Upstream;
before(async () => {
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
  });
  other = await identity.another();
  upstream = await startUpstream();
});
after(async () => {
  await identity.close();
  await upstream.close();
});

test('first sign-ins of many people into the same new groups make each group once', async () => {
  const groups = Array.from({ length: 20 }, (_, n) => `group-${n}`);
  const groupMappings = Object.fromEntries(groups.map((name) => [name, `our-${name}`]));
  const realm = await makeRealm(identity, upstream, { groupMappings });
  const tokens = await Promise.all(
    Array.from({ length: 16 }, (_, n) =>
      upstream.sign({ sub: newSubject(), groups: n % 2 === 0 ? groups : groups.toReversed() }),
    ),
  );
  const answers = await Promise.all(
    tokens.map((token, n) => signInBy(n % 2 === 0 ? identity : other, realm, token)),
  );
  for (const { status, body } of answers) assert.deepEqual([status, body.groups?.length], [200, 20]);
  const types = await journalTypes(identity, realm.tenantId);
  assert.equal(types.filter((type) => type === 'group.created').length, 20);
  assert.equal(types.filter((type) => type === 'group_membership.added').length, 320);
});

test('a subject that changes in two sign-ins at once stays one person', async () => {
  const realm = await makeRealm(identity, upstream, { externalIdClaim: 'employee' });
  const first = await upstream.sign({ sub: newSubject(), employee: 'e-1' });
  const { principalId } = (await signInBy(identity, realm, first)).body;
  const tokens = await Promise.all(
    Array.from({ length: 8 }, () => upstream.sign({ sub: newSubject(), employee: 'e-1' })),
  );
  const answers = await Promise.all(
    tokens.map((token, n) => signInBy(n % 2 === 0 ? identity : other, realm, token)),
  );
  for (const { status, body } of answers) assert.deepEqual([status, body.principalId], [200, principalId]);
});

test('a disable with concurrent sign-ins: after it every sign-in is refused, and nothing deadlocks', async () => {
  const realm = await makeRealm(identity, upstream);
  const token = await upstream.sign({ sub: newSubject() });
  const { principalId } = (await signInBy(identity, realm, token)).body;
  const path = `/tenants/${realm.tenantId}/principals/${principalId}:disable`;
  const [disabled, ...answers] = await Promise.all([
    identity.post(path),
    ...Array.from({ length: 8 }, (_, n) =>
      signInBy(n % 2 === 0 ? identity : other, realm, token, 'exchange'),
    ),
  ]);
  assert.equal(disabled.status, 200);
  // A 503 is allowed: a disable closes connections that have blocked it for 600 ms, which happens on a slow machine.
  for (const { status, body } of answers)
    assert.ok(
      [200, ...byDepth([503], [])].includes(status) || body.detail === 'principal_disabled',
      `${status} ${body.detail}`,
    );
  assert.equal((await signInBy(other, realm, token)).body.detail, 'principal_disabled');
});

test('a group that is deleted during a sign-in: the sign-in succeeds without it', async () => {
  const groupMappings = { Operators: 'operators', Staff: 'staff' };
  const realm = await makeRealm(identity, upstream, { groupMappings });
  const base = `/tenants/${realm.tenantId}/groups`;
  const token = await upstream.sign({ sub: newSubject(), groups: ['Operators', 'Staff'] });
  const seen = new Set<string>();
  for (let round = 0; round < raceRounds; round += 1) {
    await signInBy(other, realm, await upstream.sign({ sub: newSubject(), groups: ['Staff'] }));
    const { body: group } = await identity.post(base, { key: 'operators', name: 'Operators' });
    const [removed, ...answers] = await Promise.all([
      // Each round deletes the group at a different time during the sign-ins.
      pause(round % 20).then(() =>
        identity.request('DELETE', `/api/v1${base}/${group.id}`, { headers: adminHeader }),
      ),
      ...Array.from({ length: 4 }, (_, n) => signInBy(n % 2 === 0 ? identity : other, realm, token)),
    ]);
    assert.equal(removed.status, 204);
    for (const { status, body } of answers) {
      assert.equal(status, 200);
      seen.add(String(body.groups));
    }
    // Deletes the group in the database, because a sign-in has created it again after the administrator deleted it, and
    // the administrator can't delete such a group.
    await identity.pool.run(sql`delete from group_members where tenant_id = ${realm.tenantId}`);
    await identity.pool.run(
      sql`delete from groups where tenant_id = ${realm.tenantId} and key = 'operators' and deleted_at is null`,
    );
  }
  assert.ok(seen.has('operators,staff'), [...seen].join(' | '));
});

test('a SCIM group that is deleted during a sign-in: the membership from the sign-in is deleted too', async () => {
  const realm = await makeRealm(identity, upstream, { lifecycleProfile: 'managed' });
  const { tenantId } = realm;
  const { token, account } = await makeSource(identity, tenantId, realm.key);
  const directory = scimClient(other, token);
  const { body: group } = await directory.post('/Groups', { displayName: 'Operators' });
  // A sign-in that has written the membership but not committed it yet.
  await identity.pool.transaction(async (tx) => {
    await tx.run(sql`
      insert into group_members (id, tenant_id, group_id, principal_id, source, identity_provider_id)
      select gen_random_uuid(), ${tenantId}, id, ${account.principalId}, 'federated', ${realm.providerId}
      from groups where tenant_id = ${tenantId}`);
    assert.equal((await directory.delete(`/Groups/${group.id}`)).status, 204);
  });
  const isDeleted = async () => (await journalTypes(identity, tenantId)).at(-1) === 'group.deleted';
  await until(isDeleted, 'the job has removed the group');
  const types = await journalTypes(identity, tenantId);
  assert.deepEqual(types.slice(-2), ['group_membership.removed', 'group.deleted']);
});
