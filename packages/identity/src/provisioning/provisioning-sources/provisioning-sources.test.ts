import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { made, makeAudience, makePrincipal, makeServiceAccount, makeTenant } from '../../testing/objects.ts';
import { makeProvider, makeProvisioning } from '../../testing/provisioning.ts';
import { auditOf, journalOf } from '../../testing/records.ts';
import { sweepStaleSources } from './staleness.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

async function makeGround() {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  const { principalId } = await makeServiceAccount(identity, tenantId);
  const providerId = await makeProvider(identity, tenantId);
  const register = (body: object) =>
    identity.post(`/tenants/${tenantId}/provisioning-sources`, {
      key: 'entra',
      identityProvider: 'entra',
      servicePrincipalId: principalId,
      ...body,
    });
  return { tenantId, principalId, providerId, register };
}

describe('registering a provisioning source', () => {
  test('gives it defaults, an event and an audit row', async () => {
    const { tenantId, principalId, providerId, register } = await makeGround();
    const { status, body } = await register({});
    assert.deepEqual(
      [status, body],
      [
        201,
        {
          id: body.id,
          key: 'entra',
          kind: 'scim',
          identityProviderId: providerId,
          servicePrincipalId: principalId,
          upstreamMode: 'off',
          status: 'active',
          staleAfterSeconds: 86_400,
          lastSyncAt: null,
          stale: false,
        },
      ],
    );
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.payload],
      [
        'provisioning_source.registered',
        { provisioningSourceId: body.id, key: 'entra', kind: 'scim', identityProviderId: providerId },
      ],
    );
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.reason],
      ['provisioning_sources.register', 'source:entra kind:scim'],
    );
    assert.deepEqual((await identity.get(`/tenants/${tenantId}/provisioning-sources`)).body, [body]);
  });

  test('is refused in the order of its codes', async () => {
    const { tenantId, register } = await makeGround();
    const unknown = { identityProvider: 'unknown', servicePrincipalId: randomUUID() };
    const refusals: [object, number, string][] = [
      [unknown, 404, 'identity_provider_not_found'],
      [
        { identityProvider: 'ldap', servicePrincipalId: randomUUID() },
        409,
        'population_managed_by_directory',
      ],
      [{ servicePrincipalId: randomUUID() }, 404, 'principal_not_found'],
      [{ servicePrincipalId: await makePrincipal(identity, tenantId) }, 422, 'service_account_required'],
      [{ servicePrincipalId: null }, 422, 'service_principal_required'],
    ];
    await makeProvider(identity, tenantId, 'ldap', 'read_only');
    for (const [body, status, detail] of refusals) {
      const answer = await register(body);
      assert.deepEqual([answer.status, answer.body.detail], [status, detail]);
    }
    const foreign = await makeGround();
    const theirs = await register({ servicePrincipalId: foreign.principalId });
    assert.equal(theirs.body.detail, 'principal_not_found');
    const nowhere = await identity.post(`/tenants/${randomUUID()}/provisioning-sources`, {
      key: 'entra',
      ...unknown,
    });
    assert.deepEqual([nowhere.status, nowhere.body.detail], [404, 'tenant_not_found']);
    for (const bad of [{ staleAfterSeconds: 59 }, { kind: 'csv' }, { key: 'X' }, { other: 1 }])
      assert.equal((await register(bad)).status, 422);
  });

  test('a key, a provider and a service principal have one source each', async () => {
    const { tenantId, register } = await makeGround();
    await made(register({}));
    await makeProvider(identity, tenantId, 'okta');
    const { principalId: other } = await makeServiceAccount(identity, tenantId);
    for (const body of [
      { identityProvider: 'okta', servicePrincipalId: other },
      { key: 'another', servicePrincipalId: other },
      { key: 'another', identityProvider: 'okta' },
    ]) {
      const { status, body: answer } = await register(body);
      assert.deepEqual([status, answer.detail], [409, 'provisioning_source_exists']);
    }
    await made(register({ key: 'another', identityProvider: 'okta', servicePrincipalId: other }));
  });

  test('an LDAP source needs no service principal, and its provider may be read-only', async () => {
    const { tenantId, register } = await makeGround();
    await makeProvider(identity, tenantId, 'ldap', 'read_only');
    const source = await made(
      register({ key: 'ldap', kind: 'ldap', identityProvider: 'ldap', servicePrincipalId: null }),
    );
    assert.deepEqual([source.kind, source.servicePrincipalId], ['ldap', null]);
  });
});

describe('a stale source', () => {
  const silence = (sourceId: string) =>
    identity.pool.run(sql`
      update provisioning_sources set created_at = now() - interval '2 days', last_sync_at = null
      where id = ${sourceId}`);
  const alerts = async (tenantId: string) =>
    (await journalOf(identity, tenantId)).filter(({ type }) => type === 'provisioning_source.stale');

  test('is recorded once per episode, by the list or by the sweep', async () => {
    const { tenantId, sourceId } = await makeProvisioning(identity);
    const list = () => identity.get(`/tenants/${tenantId}/provisioning-sources`);
    assert.equal((await list()).body[0].stale, false);
    await silence(sourceId);
    for (let look = 0; look < 2; look += 1) assert.equal((await list()).body[0].stale, true);
    const [alert, ...more] = await alerts(tenantId);
    assert.deepEqual(more, []);
    assert.deepEqual(alert.payload, {
      provisioningSourceId: sourceId,
      key: 'entra',
      staleAfterSeconds: 86_400,
      lastSyncAt: null,
    });
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.outcome],
      ['provisioning_sources.stale_detected', 'monitor', 'denied'],
    );
    await identity.pool.run(
      sql`update provisioning_sources set stale_detected_at = null where id = ${sourceId}`,
    );
    await Promise.all([sweepStaleSources(identity.pool), sweepStaleSources(identity.pool), list()]);
    assert.equal((await alerts(tenantId)).length, 2);
  });

  test('one that the store refuses to record keeps no other from it, is named, and is recorded later', async (t) => {
    const [good, bad] = [await makeProvisioning(identity), await makeProvisioning(identity)];
    for (const { sourceId } of [good, bad]) await silence(sourceId);
    const lift = () =>
      identity.pool.run({ text: 'alter table events drop constraint if exists poison', values: [] });
    t.after(lift);
    await identity.pool.run({
      text: `alter table events add constraint poison check (tenant_id <> '${bad.tenantId}') not valid`,
      values: [],
    });
    await assert.rejects(
      sweepStaleSources(identity.pool),
      ({ message }: Error) => message.includes(bad.sourceId) && !message.includes(good.sourceId),
    );
    assert.deepEqual([(await alerts(good.tenantId)).length, (await alerts(bad.tenantId)).length], [1, 0]);
    await lift();
    await sweepStaleSources(identity.pool);
    assert.deepEqual([(await alerts(good.tenantId)).length, (await alerts(bad.tenantId)).length], [1, 1]);
  });

  test('a disabled source is not stale, and the list of an unknown tenant is empty', async () => {
    const { tenantId, sourceId } = await makeProvisioning(identity);
    await silence(sourceId);
    await identity.pool.run(sql`update provisioning_sources set status = 'disabled' where id = ${sourceId}`);
    const { body } = await identity.get(`/tenants/${tenantId}/provisioning-sources`);
    assert.deepEqual([body[0].stale, body[0].status], [false, 'disabled']);
    assert.deepEqual(await alerts(tenantId), []);
    assert.deepEqual((await identity.get(`/tenants/${randomUUID()}/provisioning-sources`)).body, []);
  });
});

describe('provisioning tokens', () => {
  test('a token is shown once and two live at a time', async () => {
    const { tenantId, sourceId, token, tokenId } = await makeProvisioning(identity);
    assert.match(token, /^iam_scim_[0-9a-f]{12}_[\w-]{43}$/);
    const path = `/tenants/${tenantId}/provisioning-sources/${sourceId}/tokens`;
    const key = { 'idempotency-key': randomUUID() };
    const second = await identity.post(path, { name: 'second', expiresInSeconds: 60 }, key);
    assert.equal(second.status, 201);
    const again = await identity.post(path, { name: 'second', expiresInSeconds: 60 }, key);
    assert.deepEqual([again.status, again.body], [201, { ...second.body, token: null }]);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    const other = await identity.post(path, { name: 'other' }, key);
    assert.deepEqual([other.status, other.body.detail], [409, 'idempotency_key_reused']);
    const blank = await identity.post(path, { name: 'x' }, { 'idempotency-key': ' ' });
    assert.deepEqual([blank.status, blank.body.detail[0].loc], [422, ['header', 'Idempotency-Key']]);
    const long = await identity.post(path, { name: 'x' }, { 'idempotency-key': 'k'.repeat(201) });
    assert.equal(long.status, 422);
    const third = await identity.post(path, { name: 'third' });
    assert.deepEqual([third.status, third.body.detail], [409, 'token_limit_reached']);

    const { body: list } = await identity.get(path);
    assert.equal(JSON.stringify(list).includes(token), false);
    assert.deepEqual(
      list.map((row: Record<string, unknown>) => [row['name'], row['revokedAt']]),
      [
        ['directory', null],
        ['second', null],
      ],
    );
    for (let time = 0; time < 2; time += 1)
      assert.equal((await identity.post(`${path}/${tokenId}:revoke`)).status, 204);
    const events = (await journalOf(identity, tenantId)).filter(({ type }) => type === 'credential.revoked');
    assert.deepEqual(
      events.map(({ aggregate_type, payload }) => [aggregate_type, payload.credentialId]),
      [['provisioning_token', tokenId]],
    );
    assert.deepEqual(
      (await auditOf(identity, tenantId)).slice(-3).map(({ action }) => action),
      ['provisioning_tokens.issue', 'provisioning_tokens.issue', 'provisioning_tokens.revoke'],
    );
    await made(identity.post(path, { name: 'third' }));
  });

  test('an expired token does not count', async () => {
    const { tenantId, sourceId, tokenId } = await makeProvisioning(identity);
    const path = `/tenants/${tenantId}/provisioning-sources/${sourceId}/tokens`;
    await made(identity.post(path, { name: 'second' }));
    assert.equal((await identity.post(path, { name: 'third' })).status, 409);
    await identity.pool.run(
      sql`update provisioning_tokens set expires_at = now() - interval '1 ms' where id = ${tokenId}`,
    );
    await made(identity.post(path, { name: 'third' }));
  });

  test('concurrent requests never make more than two', async () => {
    const { tenantId, sourceId } = await makeProvisioning(identity);
    const path = `/tenants/${tenantId}/provisioning-sources/${sourceId}/tokens`;
    const answers = await Promise.all(Array.from({ length: 6 }, () => identity.post(path, { name: 'x' })));
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  });

  test('an unknown source and an unknown token are 404', async () => {
    const { tenantId, sourceId } = await makeProvisioning(identity);
    const path = `/tenants/${tenantId}/provisioning-sources`;
    for (const answer of [
      await identity.post(`${path}/${randomUUID()}/tokens`, { name: 'x' }),
      await identity.get(`${path}/${randomUUID()}/tokens`),
    ])
      assert.deepEqual([answer.status, answer.body.detail], [404, 'provisioning_source_not_found']);
    for (const answer of [
      await identity.post(`${path}/${sourceId}/tokens/${randomUUID()}:revoke`),
      await identity.post(`${path}/${randomUUID()}/tokens/${randomUUID()}:revoke`),
    ])
      assert.deepEqual([answer.status, answer.body.detail], [404, 'credential_not_found']);
  });

  test('its lifetime is a minute to a year', async () => {
    const { tenantId, sourceId } = await makeProvisioning(identity);
    const path = `/tenants/${tenantId}/provisioning-sources/${sourceId}/tokens`;
    for (const expiresInSeconds of [59, 31_536_001])
      assert.equal((await identity.post(path, { name: 'x', expiresInSeconds })).status, 422);
    const { createdAt, expiresAt } = await made(identity.post(path, { name: 'x' }));
    assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 31_536_000_000);
  });
});
