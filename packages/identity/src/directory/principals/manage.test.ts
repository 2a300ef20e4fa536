import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import {
  made,
  makeAudience,
  makeBearer,
  makePrincipal,
  makeServiceAccount,
  makeTenant,
  makeToken,
} from '../../testing/objects.ts';
import { makeProvisioning } from '../../testing/provisioning.ts';
import { auditActions, auditOf, journalOf, journalTypes, storeCounts } from '../../testing/records.ts';
import { scimClient } from '../../testing/scim-client.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const pathOf = (tenantId: string, principalId: string) => `/tenants/${tenantId}/principals/${principalId}`;

/** A tenant whose directory has provisioned one person. */
async function makeProvisioned() {
  const provisioning = await makeProvisioning(identity);
  const directory = scimClient(identity, provisioning.token);
  const user = await made(directory.post('/Users', { userName: 'ada', externalId: 'a1' }));
  const { body } = await identity.get(`/tenants/${provisioning.tenantId}/principals?kind=human`);
  return { ...provisioning, directory, userId: user.id as string, principalId: body.items[0].id as string };
}

describe('GET …/principals', () => {
  const ids = (body: { items: { id: string }[] }) => body.items.map(({ id }) => id);

  test('lists the active members in the order in which they joined, in pages', async () => {
    const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
    const joinedLate = await makePrincipal(identity, otherId);
    const members: string[] = [];
    for (let count = 0; count < 4; count += 1) members.push(await makePrincipal(identity, tenantId));
    await identity.pool.run(
      sql`insert into memberships (tenant_id, principal_id) values (${tenantId}, ${joinedLate})`,
    );
    const gone = await makePrincipal(identity, tenantId);
    await identity.pool.run(sql`update memberships set status = 'disabled' where principal_id = ${gone}`);
    members.push(joinedLate);

    const path = `/tenants/${tenantId}/principals`;
    const whole = await made(identity.get(path));
    assert.deepEqual([ids(whole), whole.next_after], [members, null]);
    assert.deepEqual(whole.items[0], (await identity.get(pathOf(tenantId, members[0] as string))).body);

    const seen: string[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const page: { items: { id: string }[]; next_after: string | null } = await made(
        identity.get(`${path}?limit=2${after && `&after=${after}`}`),
      );
      assert.ok(page.items.length <= 2);
      seen.push(...ids(page));
      after = page.next_after;
    }
    assert.deepEqual(seen, members);
    assert.equal((await made(identity.get(`${path}?limit=5`))).next_after, null);
  });

  test('pages of members that joined in the same instant repeat and lose none', async () => {
    const tenantId = await makeTenant(identity);
    const members: string[] = [];
    for (let count = 0; count < 5; count += 1) members.push(await makePrincipal(identity, tenantId));
    await identity.pool.run(sql`update memberships set created_at = now() where tenant_id = ${tenantId}`);
    const path = `/tenants/${tenantId}/principals?limit=3`;
    const first = await made(identity.get(path));
    const second = await made(identity.get(`${path}&after=${first.next_after}`));
    assert.deepEqual([...ids(first), ...ids(second)], members.sort());
  });

  test('is narrowed to a kind and a status', async () => {
    const tenantId = await makeTenant(identity);
    const agent = await makePrincipal(identity, tenantId);
    const human = await makePrincipal(identity, tenantId, 'human');
    const disabled = await makePrincipal(identity, tenantId, 'human');
    await made(identity.post(`${pathOf(tenantId, disabled)}:disable`));
    const list = async (query: string) =>
      ids(await made(identity.get(`/tenants/${tenantId}/principals${query}`)));
    assert.deepEqual(await list('?kind=human'), [human, disabled]);
    assert.deepEqual(await list('?status=active'), [agent, human]);
    assert.deepEqual(await list('?kind=human&status=disabled'), [disabled]);
    assert.deepEqual(await list('?kind=workload'), []);
  });

  test('an unknown tenant is 404; a malformed filter, length or cursor is refused', async () => {
    const unknown = await identity.get(`/tenants/${randomUUID()}/principals`);
    assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'tenant_not_found' }]);
    const tenantId = await makeTenant(identity);
    const foreign = Buffer.from(
      JSON.stringify(['other list', '2026-01-01T00:00:00.000Z', tenantId]),
    ).toString('base64url');
    for (const query of [
      'kind=robot',
      'status=gone',
      'limit=0',
      'limit=501',
      'after=x',
      `after=${foreign}`,
    ]) {
      const { status, body } = await identity.get(`/tenants/${tenantId}/principals?${query}`);
      assert.deepEqual([status, body.detail[0].loc], [422, ['query', query.split('=')[0]]], query);
    }
  });
});

describe('POST …/principals/{principalId}:enable', () => {
  test('enables a disabled principal, with one event; its revoked tokens stay revoked', async () => {
    const { tenantId, principalId, token } = await makeBearer(identity);
    await made(identity.post(`${pathOf(tenantId, principalId)}:disable`));
    const { status, body } = await identity.post(`${pathOf(tenantId, principalId)}:enable`);
    assert.deepEqual([status, body], [200, { principalId, status: 'active' }]);
    const [disabled, enabled] = (await journalOf(identity, tenantId)).slice(-2);
    assert.deepEqual(
      [enabled.type, enabled.aggregate_type, enabled.aggregate_id, Object.keys(enabled.payload)],
      ['principal.enabled', 'principal', principalId, ['principalId', 'sessionsNotBefore']],
    );
    assert.ok(enabled.payload.sessionsNotBefore >= disabled.occurred_at);
    assert.equal((await auditActions(identity, tenantId)).at(-1), 'allowed principals.enable');

    const exchange = await identity.post('/platform-access-tokens:exchange', {
      token,
      audience: 'control-plane',
    });
    assert.deepEqual([exchange.status, exchange.body], [401, { detail: 'invalid_token' }]);
    const renewed = await makeToken(identity, tenantId, principalId);
    const again = { token: renewed.token, audience: 'control-plane' };
    assert.equal((await identity.post('/platform-access-tokens:exchange', again)).status, 200);
  });

  test('a paused one, too; the secret of a service account works again', async () => {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId);
    const { principalId, clientId, clientSecret } = await makeServiceAccount(identity, tenantId);
    const exchange = () =>
      identity.post('/tokens/exchange', { clientId, clientSecret, audience: 'control-plane' });
    await made(identity.post(`${pathOf(tenantId, principalId)}:disable`));
    assert.equal((await exchange()).status, 401);
    await made(identity.post(`${pathOf(tenantId, principalId)}:enable`));
    assert.equal((await exchange()).status, 200);
    await identity.pool.run(sql`update principals set status = 'paused' where id = ${principalId}`);
    assert.equal((await exchange()).status, 401);
    await made(identity.post(`${pathOf(tenantId, principalId)}:enable`));
    assert.equal((await exchange()).status, 200);
  });

  test('repeats as 200: no event, an audit row', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makePrincipal(identity, tenantId);
    const before = await journalTypes(identity, tenantId);
    const { status, body } = await identity.post(`${pathOf(tenantId, principalId)}:enable`);
    assert.deepEqual([status, body], [200, { principalId, status: 'active' }]);
    assert.deepEqual(await journalTypes(identity, tenantId), before);
    assert.equal((await auditActions(identity, tenantId)).at(-1), 'allowed principals.enable');
  });

  test('an unknown principal is 404, denied in the audit log of a known tenant', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = randomUUID();
    const known = await identity.post(`${pathOf(tenantId, principalId)}:enable`);
    assert.deepEqual([known.status, known.body], [404, { detail: 'principal_not_found' }]);
    const denied = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [denied?.action, denied?.outcome, denied?.resource_id, denied?.reason],
      ['principals.enable', 'denied', principalId, 'principal_not_found'],
    );
    const before = await storeCounts(identity);
    assert.equal((await identity.post(`${pathOf(randomUUID(), principalId)}:enable`)).status, 404);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('a person who is inactive in the directory stays disabled until the directory changes it', async () => {
    const { tenantId, principalId, directory, userId, sourceId } = await makeProvisioned();
    const enable = () => identity.post(`${pathOf(tenantId, principalId)}:enable`);
    // The person was disabled by the admin and is active in the directory, so the admin may enable the person again.
    await made(identity.post(`${pathOf(tenantId, principalId)}:disable`));
    assert.equal((await enable()).status, 200);

    await made(directory.patch(`/Users/${userId}`, [{ op: 'replace', path: 'active', value: false }]));
    const before = await journalTypes(identity, tenantId);
    const { status, body } = await enable();
    assert.deepEqual([status, body], [409, { detail: 'principal_provisioned' }]);
    assert.deepEqual(await journalTypes(identity, tenantId), before);
    assert.equal((await auditActions(identity, tenantId)).at(-1), 'denied principals.enable');

    // The status in a closed source no longer matters.
    await identity.pool.run(sql`update provisioning_sources set status = 'disabled' where id = ${sourceId}`);
    assert.equal((await enable()).status, 200);
  });
});

describe('PATCH …/principals/{principalId}', () => {
  test('renames it, with an event without the name and an audit row', async () => {
    const tenantId = await makeTenant(identity);
    const principalId = await makePrincipal(identity, tenantId);
    const path = pathOf(tenantId, principalId);
    const { body: before } = await identity.get(path);
    const { status, body } = await identity.patch(path, { displayName: 'Another name' });
    assert.deepEqual([status, body], [200, { ...before, display_name: 'Another name' }]);
    assert.deepEqual((await identity.get(path)).body, body);
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual([event.type, event.payload], ['principal.updated', { principalId }]);
    assert.equal((await auditActions(identity, tenantId)).at(-1), 'allowed principals.update');
    const counts = await storeCounts(identity);
    assert.deepEqual((await identity.patch(path, { displayName: 'Another name' })).body, body);
    assert.deepEqual(await storeCounts(identity), counts);
  });

  test('the name of a provisioned person follows its directory', async () => {
    const { tenantId, principalId, directory, userId } = await makeProvisioned();
    const path = pathOf(tenantId, principalId);
    const { status, body } = await identity.patch(path, { displayName: 'Countess' });
    assert.deepEqual([status, body], [409, { detail: 'principal_provisioned' }]);
    assert.equal((await directory.delete(`/Users/${userId}`)).status, 204);
    assert.equal((await identity.patch(path, { displayName: 'Countess' })).status, 200);
  });

  test('an unknown principal is 404, also that of another tenant; a name of 0 or 201 characters is refused', async () => {
    const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
    const principalId = await makePrincipal(identity, tenantId);
    for (const path of [pathOf(otherId, principalId), pathOf(tenantId, randomUUID())]) {
      const { status, body } = await identity.patch(path, { displayName: 'x' });
      assert.deepEqual([status, body], [404, { detail: 'principal_not_found' }]);
    }
    for (const body of [{}, { displayName: '' }, { displayName: 'x'.repeat(201) }])
      assert.equal((await identity.patch(pathOf(tenantId, principalId), body)).status, 422);
  });
});
