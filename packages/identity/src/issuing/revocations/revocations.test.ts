import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import {
  made,
  makeAudience,
  makeBearer,
  makeServiceAccount,
  makeTenant,
  makeToken,
} from '../../testing/objects.ts';
import { makeProvisioning } from '../../testing/provisioning.ts';
import { scimClient } from '../../testing/scim-client.ts';
import { until } from '../../testing/waiting.ts';
import { findRevocationEvents } from './revocation-feed.sql.ts';
import { makeRevocationList } from './revocation-list.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const sha256 = (id: string) => hash('sha256', id, 'base64url');

async function entryOf(id: string) {
  const { body } = await identity.request('GET', '/.well-known/revocations.json');
  return body.revoked.find((entry: { sha256: string }) => entry.sha256 === sha256(id));
}

describe('GET /.well-known/revocations.json', () => {
  test('needs no credential, is not cached, and shows no id', async () => {
    const { tenantId, principalId } = await makeBearer(identity);
    await made(identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`));
    const { status, body, headers } = await identity.request('GET', '/.well-known/revocations.json');
    assert.deepEqual([status, headers.get('cache-control'), body.not_before], [200, 'no-cache', 0]);
    assert.ok(!JSON.stringify(body).includes(principalId));
  });

  test('names a disabled principal and its tokens as soon as the disable is answered', async () => {
    const { tenantId, principalId, token, credential } = await makeBearer(identity);
    const exchange = { token, audience: 'control-plane' };
    const { accessToken } = await made(
      identity.request('POST', '/api/v1/platform-access-tokens:exchange', { body: exchange }),
    );
    assert.equal(await entryOf(principalId), undefined);
    await made(identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`));
    const claims = decodeJwt(accessToken);
    for (const id of [claims.sub, claims['credential_id'], principalId, credential.id] as string[])
      assert.deepEqual(await entryOf(id), { sha256: sha256(id), not_before: null });
    assert.equal(await entryOf(tenantId), undefined);
  });

  test('a principal that is enabled again keeps the tokens from before revoked, and no later one', async () => {
    const { tenantId, principalId } = await makeBearer(identity);
    const path = `/tenants/${tenantId}/principals/${principalId}`;
    await made(identity.post(`${path}:disable`));
    const enabledFrom = Math.floor(Date.now() / 1000) - 1;
    await made(identity.post(`${path}:enable`));
    const entry = await entryOf(principalId);
    assert.ok(entry.not_before >= enabledFrom && entry.not_before <= Date.now() / 1000 + 1, entry.not_before);
    const { token } = await makeToken(identity, tenantId, principalId);
    const body = { token, audience: 'control-plane' };
    const { accessToken } = await made(
      identity.request('POST', '/api/v1/platform-access-tokens:exchange', { body }),
    );
    assert.ok((decodeJwt(accessToken).iat as number) >= entry.not_before);
    await made(identity.post(`${path}:disable`));
    assert.equal((await entryOf(principalId)).not_before, null);
  });

  test('names a revoked token, a revoked service account, and what a directory deactivates', async () => {
    const { tenantId, token, credential } = await makeBearer(identity);
    await identity.request('POST', '/api/v1/platform-access-tokens:revoke-self', { body: { token } });
    assert.equal((await entryOf(credential.id)).not_before, null);

    const { clientId, clientSecret } = await makeServiceAccount(identity, tenantId);
    const body = { clientId, clientSecret, audience: 'control-plane' };
    const granted = await made(identity.request('POST', '/api/v1/tokens/exchange', { body }));
    await identity.post(`/tenants/${tenantId}/service-accounts/${clientId}:revoke`);
    assert.equal((await entryOf(decodeJwt(granted.accessToken)['credential_id'] as string)).not_before, null);

    const provisioning = await makeProvisioning(identity);
    const directory = scimClient(identity, provisioning.token);
    const { id } = await made(directory.post('/Users', { userName: 'ada', externalId: 'a1' }));
    const people = await identity.get(`/tenants/${provisioning.tenantId}/principals?kind=human`);
    await made(directory.patch(`/Users/${id}`, [{ op: 'replace', path: 'active', value: false }]));
    assert.equal((await entryOf(people.body.items[0].id)).not_before, null);
  });

  test('names a tenant for as long as it is disabled; a rotated token is not revoked', async () => {
    const { tenantId, principalId, credential } = await makeBearer(identity);
    await identity.post(
      `/tenants/${tenantId}/platform-access-tokens/${credential.id}:rotate`,
      {},
      { 'idempotency-key': principalId },
    );
    assert.equal(await entryOf(credential.id), undefined);
    await made(identity.patch(`/tenants/${tenantId}`, { status: 'disabled' }));
    assert.equal((await entryOf(tenantId)).not_before, null);
    await made(identity.patch(`/tenants/${tenantId}`, { status: 'active' }));
    assert.equal(await entryOf(tenantId), undefined);
  });

  test('another process names it within a second, and an entry leaves when no token can be left', async () => {
    const other = await identity.another();
    const read = async (id: string) => {
      const { body } = await other.request('GET', '/.well-known/revocations.json');
      return body.revoked.some((entry: { sha256: string }) => entry.sha256 === sha256(id));
    };
    const { tenantId, principalId } = await makeBearer(identity);
    assert.equal(await read(principalId), false);
    await made(identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`));
    await until(() => read(principalId), 'the other process names it');

    const short = await identity.another({ IAM_TOKEN_TTL_SECONDS: '1' });
    const old = await makeTenant(identity);
    await identity.pool.run(sql`
      insert into events (id, tenant_id, type, aggregate_type, aggregate_id, payload, occurred_at)
      values (${tenantId}, ${old}, 'tenant.updated', 'tenant', ${old}, '{"status":"disabled"}', now() - interval '122 s')`);
    const { body } = await short.request('GET', '/.well-known/revocations.json');
    assert.ok(!body.revoked.some((entry: { sha256: string }) => entry.sha256 === sha256(old)));
    await until(async () => (await entryOf(old)) !== undefined, 'tokens of 300 s still need it');
    await other.close();
    await short.close();
  });

  test('services of the same process are notified before the response to a revocation', async () => {
    const account = await makeBearer(identity);
    const path = `/tenants/${account.tenantId}/principals/${account.principalId}`;
    let told = 0;
    const listening = await identity.another({}, async () => {
      told += 1;
    });
    await made(listening.post(`${path}:disable`));
    assert.equal(told, 1);
    await made(listening.patch(path, { displayName: 'Renamed' }));
    assert.equal(told, 1);
    await listening.close();
    // A process that never responds delays the disable, but doesn't prevent it.
    const stuck = await identity.another({}, () => new Promise(() => undefined));
    await made(stuck.post(`${path}:enable`));
    await stuck.close();
  });
});

describe('more revocations than the list holds', () => {
  const event = (n: number, tenant_id = 'tenant') => ({
    tenant_id,
    type: 'principal.disabled' as const,
    aggregate_id: `id-${n}`,
    status: null,
    key: null,
    at_seconds: 100 - n,
    sessions_not_before: null,
  });
  const entriesOf = ({ revoked }: ReturnType<typeof makeRevocationList>) =>
    revoked.map((entry) => [entry.sha256, entry.not_before]);

  test('revoke every token from before the newest one left out', () => {
    const bounds = { entriesMax: 2, entriesOfTenantMax: 2 };
    const list = makeRevocationList(
      [0, 1, 2, 3].map((n) => event(n, `tenant-${n}`)),
      bounds,
    );
    assert.equal(list.not_before, 99);
    assert.deepEqual(entriesOf(list), [
      [sha256('id-0'), null],
      [sha256('id-1'), null],
    ]);
    assert.equal(makeRevocationList([event(0), event(1)], bounds).not_before, 0);
  });

  test('of one tenant revoke the older tokens of that tenant, and of no other', () => {
    const events = [event(0), event(1), event(2, 'other'), event(3), event(4), event(5, 'other')];
    const list = makeRevocationList(events, { entriesMax: 100, entriesOfTenantMax: 2 });
    assert.equal(list.not_before, 0);
    assert.deepEqual(entriesOf(list), [
      [sha256('id-0'), null],
      [sha256('id-1'), null],
      [sha256('id-2'), null],
      [sha256('tenant'), 98],
      [sha256('id-5'), null],
    ]);
  });

  test('of a tenant that is disabled leave none of its tokens', () => {
    const disabled = {
      ...event(0),
      type: 'tenant.updated' as const,
      aggregate_id: 'tenant',
      status: 'disabled',
    };
    const list = makeRevocationList([disabled, event(1)], { entriesMax: 100, entriesOfTenantMax: 1 });
    assert.deepEqual(entriesOf(list), [[sha256('tenant'), null]]);
  });

  test('a tenant that changes one principal again and again has one entry', async () => {
    const { tenantId, principalId: id } = await makeBearer(identity);
    const path = `/tenants/${tenantId}/principals/${id}`;
    for (let round = 0; round < 3; round += 1) {
      await made(identity.post(`${path}:disable`));
      await made(identity.post(`${path}:enable`));
    }
    const rows = await identity.pool.rows(findRevocationEvents(420, 500, 5000));
    assert.deepEqual(
      rows.filter((row) => row.aggregate_id === id).map(({ type, tenant_id }) => [type, tenant_id]),
      [['principal.enabled', tenantId]],
    );
  });
});

test('the list is read by its own index, whatever the journal holds', async () => {
  await makeAudience(identity, await makeTenant(identity));
  await identity.pool.transaction(async (tx) => {
    await tx.run(sql`set local enable_seqscan = off`);
    const { text, values } = findRevocationEvents(420, 500, 5000);
    const plan = await tx.rows({ text: `explain ${text}`, values });
    assert.match(JSON.stringify(plan), /events_of_revocations/);
  });
});
