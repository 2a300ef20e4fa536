import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeTenant } from '../../testing/objects.ts';
import { makeProvider, makeProvisioning } from '../../testing/provisioning.ts';
import { auditOf, journalOf, journalTypes, storeCounts } from '../../testing/records.ts';
import { scimClient } from '../../testing/scim-client.ts';
import { sweepStaleSources } from './staleness.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const pathOf = (tenantId: string, sourceId: string) =>
  `/tenants/${tenantId}/provisioning-sources/${sourceId}`;
const lastAudit = async (tenantId: string) => {
  const row = (await auditOf(identity, tenantId)).at(-1);
  return [row?.action, row?.actor_ref, row?.resource_type, row?.resource_id, row?.reason];
};

/** An LDAP directory, which Baton only reads. */
async function makeDirectory() {
  const tenantId = await makeTenant(identity);
  await makeProvider(identity, tenantId, 'ldap', 'read_only');
  const wanted = { key: 'ldap', kind: 'ldap', identityProvider: 'ldap' };
  const source = await made(identity.post(`/tenants/${tenantId}/provisioning-sources`, wanted));
  return { tenantId, source, path: pathOf(tenantId, source.id) };
}

describe('a provisioning source', () => {
  test('is answered alone as in the list', async () => {
    const { tenantId, source, path } = await makeDirectory();
    const { status, body } = await identity.get(path);
    assert.deepEqual([status, body], [200, source]);
    assert.deepEqual((await identity.get(`/tenants/${tenantId}/provisioning-sources`)).body, [body]);
  });

  test('of another tenant, or an unknown one, is absent everywhere', async () => {
    const { source } = await makeDirectory();
    const tenantId = await makeTenant(identity);
    for (const id of [source.id, randomUUID()]) {
      const path = pathOf(tenantId, id);
      for (const answer of [
        await identity.get(path),
        await identity.patch(path, {}),
        await identity.post(`${path}:disable`),
        await identity.post(`${path}:enable`),
        await identity.post(`${path}:heartbeat`),
      ])
        assert.deepEqual([answer.status, answer.body.detail], [404, 'provisioning_source_not_found']);
    }
  });

  test('is changed with event and audit row; equal values change nothing', async () => {
    const { tenantId, source, path } = await makeDirectory();
    const changes = { staleAfterSeconds: 60, upstreamMode: 'scim', upstreamBaseUrl: 'https://up.example' };
    const { status, body } = await identity.patch(path, changes);
    assert.deepEqual([status, body], [200, { ...source, staleAfterSeconds: 60, upstreamMode: 'scim' }]);
    const { type, payload } = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [type, payload],
      ['provisioning_source.updated', { provisioningSourceId: source.id, key: 'ldap' }],
    );
    assert.deepEqual(await lastAudit(tenantId), [
      'provisioning_sources.update',
      'bootstrap',
      'provisioning_source',
      source.id,
      'source:ldap changed:stale_after_seconds,upstream_base_url,upstream_mode',
    ]);
    const counts = await storeCounts(identity);
    for (const same of [changes, {}]) assert.deepEqual((await identity.patch(path, same)).body, body);
    assert.deepEqual(await storeCounts(identity), counts);
    for (const bad of [{ staleAfterSeconds: 59 }, { key: 'other' }, { status: 'disabled' }])
      assert.equal((await identity.patch(path, bad)).status, 422);
  });

  test('writes only here again after upstreamMode off', async () => {
    const { tenantId, sourceId, token } = await makeProvisioning(identity);
    const create = () => scimClient(identity, token).post('/Users', { userName: randomUUID() });
    const path = pathOf(tenantId, sourceId);
    await made(identity.patch(path, { upstreamMode: 'scim', upstreamBaseUrl: 'https://up.example' }));
    assert.equal((await create()).status, 502);
    await made(identity.patch(path, { upstreamMode: 'off' }));
    assert.equal((await create()).status, 201);
  });
});

describe('a disabled source', () => {
  test('refuses SCIM at once for both credentials, with one event, and can be enabled again', async () => {
    const { tenantId, sourceId, token, account } = await makeProvisioning(identity, 'switched');
    const { clientId, clientSecret } = account;
    const request = { clientId, clientSecret, audience: 'iam-scim', scopes: ['scim:write'] };
    const { accessToken } = await made(
      identity.request('POST', '/api/v1/tokens/exchange', { body: request }),
    );
    const statuses = async () => [
      (await scimClient(identity, token).get('/Users')).status,
      (await scimClient(identity, accessToken).get('/Users')).status,
    ];
    assert.deepEqual(await statuses(), [200, 200]);
    const path = pathOf(tenantId, sourceId);
    for (const [verb, status, closed] of [
      ['disable', 'disabled', [401, 403]],
      ['enable', 'active', [200, 200]],
    ] as const) {
      for (let time = 0; time < 2; time += 1) {
        const { status: code, body } = await identity.post(`${path}:${verb}`);
        assert.deepEqual([code, body.id, body.status], [200, sourceId, status]);
        assert.deepEqual(await statuses(), closed);
        const rows = (await auditOf(identity, tenantId)).filter(
          ({ action }) => action === `provisioning_sources.${verb}`,
        );
        assert.equal(rows.length, time + 1);
        assert.equal(rows[0]?.reason, 'source:switched');
      }
      const told = (await journalTypes(identity, tenantId)).filter(
        (type) => type === `provisioning_source.${verb}d`,
      );
      assert.equal(told.length, 1);
    }
  });

  test('of kind scim cannot be enabled while its provider is read_only', async () => {
    const { tenantId, sourceId } = await makeProvisioning(identity);
    const path = pathOf(tenantId, sourceId);
    await made(identity.post(`${path}:disable`));
    const provider = `/tenants/${tenantId}/identity-providers/entra`;
    await made(identity.patch(provider, { lifecycleProfile: 'read_only' }));
    const { status, body } = await identity.post(`${path}:enable`);
    assert.deepEqual([status, body.detail], [409, 'population_managed_by_directory']);
    await made(identity.patch(provider, { lifecycleProfile: 'managed' }));
    await made(identity.post(`${path}:enable`));
  });

  test('is never active with a read_only provider, however both are changed concurrently', async () => {
    const { tenantId, sourceId } = await makeProvisioning(identity);
    const path = pathOf(tenantId, sourceId);
    const provider = `/tenants/${tenantId}/identity-providers/entra`;
    for (let round = 0; round < raceRounds; round += 1) {
      await made(identity.post(`${path}:disable`));
      await made(identity.patch(provider, { lifecycleProfile: 'managed' }));
      const answers = await Promise.all([
        identity.post(`${path}:enable`),
        identity.patch(provider, { lifecycleProfile: 'read_only' }),
      ]);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    }
  });
});

describe('a heartbeat', () => {
  const silence = (sourceId: string) =>
    identity.pool.run(sql`
      update provisioning_sources set created_at = now() - interval '2 days',
        last_sync_at = case when last_sync_at is null then null else now() - interval '2 days' end
      where id = ${sourceId}`);
  const alerts = async (tenantId: string) => {
    await sweepStaleSources(identity.pool);
    return (await journalTypes(identity, tenantId)).filter((type) => type === 'provisioning_source.stale')
      .length;
  };

  test('of an LDAP source stores the contact without an event, and ends the episode', async () => {
    const { tenantId, source, path } = await makeDirectory();
    await silence(source.id);
    assert.equal(await alerts(tenantId), 1);
    assert.equal((await identity.get(path)).body.stale, true);
    const events = (await journalTypes(identity, tenantId)).length;
    const { status, body } = await identity.post(`${path}:heartbeat`);
    assert.equal(status, 200);
    assert.ok(Math.abs(Date.parse(body.lastSyncAt) - Date.now()) < 60_000);
    assert.deepEqual(body, { ...source, lastSyncAt: body.lastSyncAt });
    assert.equal((await journalTypes(identity, tenantId)).length, events);
    assert.deepEqual(await lastAudit(tenantId), [
      'provisioning_sources.heartbeat',
      'bootstrap',
      'provisioning_source',
      source.id,
      'source:ldap',
    ]);
    assert.equal(await alerts(tenantId), 1);
    await silence(source.id);
    assert.equal(await alerts(tenantId), 2);
  });

  test('of a SCIM source is refused: its writes are its contacts', async () => {
    const { tenantId, sourceId } = await makeProvisioning(identity);
    const { status, body } = await identity.post(`${pathOf(tenantId, sourceId)}:heartbeat`);
    assert.deepEqual([status, body.detail], [409, 'source_syncs_itself']);
    assert.equal((await identity.get(pathOf(tenantId, sourceId))).body.lastSyncAt, null);
  });

  test('is not needed to end an episode: a longer limit and enabling again do too', async () => {
    const { tenantId, source, path } = await makeDirectory();
    await silence(source.id);
    assert.equal(await alerts(tenantId), 1);
    assert.equal((await identity.patch(path, { staleAfterSeconds: 2_592_000 })).body.stale, false);
    assert.equal((await identity.patch(path, { staleAfterSeconds: 60 })).body.stale, true);
    assert.equal(await alerts(tenantId), 2);
    assert.equal((await identity.post(`${path}:disable`)).body.stale, false);
    assert.equal(await alerts(tenantId), 2);
    assert.equal((await identity.post(`${path}:enable`)).body.stale, true);
    assert.equal(await alerts(tenantId), 3);
  });
});
