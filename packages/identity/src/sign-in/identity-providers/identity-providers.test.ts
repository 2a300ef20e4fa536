import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal, makeTenant } from '../../testing/objects.ts';
import { makeProvisioning } from '../../testing/provisioning.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
let tenantId: string;
before(async () => {
  identity = await startIdentity();
  tenantId = await makeTenant(identity);
});
after(() => identity.close());

const path = (key = '', tenant = tenantId) =>
  `/tenants/${tenant}/identity-providers${key === '' ? '' : `/${key}`}`;
const register = (body: object, tenant = tenantId) => identity.post(path('', tenant), body);
const fresh = (changes: object = {}) => {
  const name = `p-${randomUUID()}`;
  return { key: name, issuer: `https://${name}.example`, audience: 'baton', ...changes };
};
const lastAudit = async () => {
  const line = (await auditOf(identity, tenantId)).at(-1);
  return [line?.action, line?.actor_ref, line?.outcome, line?.resource_type, line?.resource_id, line?.reason];
};

describe('POST …/identity-providers', () => {
  test('registers with defaults, journal and audit row', async () => {
    const wanted = fresh();
    const { status, body } = await register(wanted);
    assert.equal(status, 201);
    const { id, created_at, ...rest } = body;
    assert.match(created_at, /Z$/);
    assert.deepEqual(rest, {
      tenant_id: tenantId,
      key: wanted.key,
      issuer: wanted.issuer,
      audience: 'baton',
      jwks_uri: '',
      key_set: null,
      subject_claim: 'sub',
      external_id_claim: 'sub',
      group_claim: 'groups',
      display_name_claim: '',
      email_claim: 'email',
      unknown_people: 'create',
      admit: null,
      offered: false,
      own_issuer: false,
      group_mappings: {},
      required_acr_values: [],
      required_amr_values: [],
      authorized_parties: [],
      lifecycle_profile: 'read_only',
      principal_kind: 'human',
      required_claims: {},
      jwks_cache_ttl_seconds: 300,
      jwks_stale_grace_seconds: 900,
      status: 'active',
    });
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.aggregate_type, event.aggregate_id, event.payload],
      [
        'identity_provider.registered',
        'identity_provider',
        id,
        { identityProviderId: id, key: wanted.key, lifecycleProfile: 'read_only' },
      ],
    );
    assert.deepEqual(await lastAudit(), [
      'identity_providers.create',
      'bootstrap',
      'allowed',
      'identity_provider',
      id,
      `provider:${wanted.key}`,
    ]);
  });

  test('stores what is sent: lists sorted without repeats, and the issuer without slashes at its end', async () => {
    const wanted = fresh({
      jwksUri: 'https://keys.example/jwks',
      subjectClaim: 'oid',
      externalIdClaim: '',
      groupClaim: 'roles',
      groupMappings: { '/Engineering ': 'engineers', Ops: 'operators' },
      requiredAcrValues: ['b', 'a', 'b'],
      requiredAmrValues: ['otp', 'mfa'],
      authorizedParties: ['web', 'mobile', 'web'],
      lifecycleProfile: 'managed',
      jwksCacheTtlSeconds: 0,
      jwksStaleGraceSeconds: 86_400,
    });
    const { body } = await register({ ...wanted, issuer: `${wanted.issuer}/realm//` });
    assert.deepEqual(
      [body.issuer, body.jwks_uri, body.subject_claim, body.external_id_claim, body.group_claim],
      [`${wanted.issuer}/realm`, 'https://keys.example/jwks', 'oid', '', 'roles'],
    );
    assert.deepEqual(body.group_mappings, { '/Engineering ': 'engineers', Ops: 'operators' });
    assert.deepEqual(
      [body.required_acr_values, body.required_amr_values, body.authorized_parties],
      [
        ['a', 'b'],
        ['mfa', 'otp'],
        ['mobile', 'web'],
      ],
    );
    assert.deepEqual(
      [body.lifecycle_profile, body.jwks_cache_ttl_seconds, body.jwks_stale_grace_seconds],
      ['managed', 0, 86_400],
    );
  });

  test('a body of another form is 422, before the tenant is looked up', async () => {
    for (const bad of [
      { key: 'A' },
      { key: undefined },
      { issuer: '' },
      { issuer: `https://${'x'.repeat(500)}` },
      { audience: '' },
      { audience: 'x'.repeat(201) },
      { jwksUri: 'ftp://keys.example' },
      { jwksUri: 'http://' },
      { jwksUri: `https://${'x'.repeat(500)}` },
      { subjectClaim: 'x'.repeat(81) },
      { externalIdClaim: 'x'.repeat(81) },
      { groupClaim: 'x'.repeat(81) },
      { displayNameClaim: 'x'.repeat(81) },
      { groupMappings: { upstream: 'Not a key' } },
      { groupMappings: { ' / ': 'engineers' } },
      { groupMappings: ['engineers'] },
      { groupMappings: JSON.parse('{"__proto__": "engineers"}') },
      { requiredAcrValues: 'urn:mfa' },
      { authorizedParties: 'web' },
      { authorizedParties: [''] },
      { authorizedParties: ['x'.repeat(201)] },
      { authorizedParties: Array.from({ length: 51 }, (_, index) => `client-${index}`) },
      { authorizedParties: null },
      { authorized_parties: ['web'] },
      { lifecycleProfile: 'other' },
      { jwksCacheTtlSeconds: -1 },
      { jwksCacheTtlSeconds: 86_401 },
      { jwksStaleGraceSeconds: 1.5 },
      { jwks_uri: 'https://keys.example' },
    ]) {
      const { status, body } = await register(fresh(bad), randomUUID());
      assert.equal(status, 422, JSON.stringify(bad));
      assert.ok(Array.isArray(body.detail));
    }
  });

  test('checks the tenant, then the issuer, then whether it exists', async () => {
    const wanted = fresh();
    await made(register(wanted));
    const unknown = await register({ ...wanted, issuer: 'ldap://x' }, randomUUID());
    assert.deepEqual([unknown.status, unknown.body.detail], [404, 'tenant_not_found']);
    for (const issuer of [
      'ldap://login.example',
      'login.example',
      'https://',
      'https:///',
      'https://login.example?x=1',
      'https://login.example/#x',
      'https://user@login.example',
      'https://login example',
      'https://login.example:port',
      'https://login.example/größe',
      // Those of identity itself.
      'http://localhost:8010/iam',
      'http://localhost:8010/iam/',
      'http://localhost:8010/iam/passkeys',
    ]) {
      const { status, body } = await register({ ...wanted, issuer });
      assert.deepEqual([status, body], [422, { detail: 'invalid_issuer' }], issuer);
    }
    const before = await storeCounts(identity);
    for (const taken of [
      fresh({ key: wanted.key }),
      fresh({ issuer: wanted.issuer }),
      fresh({ issuer: `${wanted.issuer}/` }),
    ]) {
      const { status, body } = await register(taken);
      assert.deepEqual([status, body], [409, { detail: 'identity_provider_exists' }]);
    }
    assert.deepEqual(await storeCounts(identity), before);
    const elsewhere = await makeTenant(identity);
    assert.equal((await register(wanted, elsewhere)).status, 201);
  });

  test('a read-only provider takes links by hand over; disabled or managed it does not', async () => {
    const principalId = await makePrincipal(identity, tenantId, 'human');
    const { key, issuer } = await made(register(fresh()));
    const link = async () =>
      (
        await identity.post(`/tenants/${tenantId}/principals/${principalId}/external-identities`, {
          issuer,
          subject: randomUUID(),
        })
      ).status;
    assert.equal(await link(), 409);
    await made(identity.post(`${path(key)}:disable`));
    assert.equal(await link(), 201);
    await made(identity.post(`${path(key)}:enable`));
    assert.equal(await link(), 409);
    await made(identity.patch(path(key), { lifecycleProfile: 'managed' }));
    assert.equal(await link(), 201);
  });
});

test('a tenant has 200 identity providers at most, however many are registered at the same time', async () => {
  const tenant = await makeTenant(identity);
  await identity.pool.run(sql`
    insert into identity_providers (id, tenant_id, key, issuer, registered_issuer, audience, lifecycle_profile)
    select gen_random_uuid(), ${tenant}, 'filled-' || n, 'https://' || n || '.example', '', 'baton', 'managed'
    from generate_series(1, 198) as n`);
  const answers = await Promise.all(Array.from({ length: 6 }, () => register(fresh(), tenant)));
  const details = answers.map(({ status, body }) => (status === 201 ? 'registered' : body.detail)).sort();
  assert.deepEqual(details, ['registered', 'registered', ...Array(4).fill('too_many_identity_providers')]);
});

describe('the management of identity providers', () => {
  test('lists them by key and gets one', async () => {
    const tenant = await makeTenant(identity);
    assert.deepEqual((await identity.get(path('', tenant))).body, []);
    const b = await made(register(fresh({ key: 'b-provider' }), tenant));
    const a = await made(register(fresh({ key: 'a-provider' }), tenant));
    assert.deepEqual((await identity.get(path('', tenant))).body, [a, b]);
    assert.deepEqual((await identity.get(path('b-provider', tenant))).body, b);
    const unknown = await identity.get(path('', randomUUID()));
    assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'tenant_not_found' }]);
  });

  test('an absent one is 404 everywhere, and nothing is written', async () => {
    const before = await storeCounts(identity);
    for (const answer of [
      await identity.get(path('unknown')),
      await identity.patch(path('unknown'), { audience: 'x' }),
      await identity.post(`${path('unknown')}:disable`),
      await identity.post(`${path('unknown')}:enable`),
    ])
      assert.deepEqual([answer.status, answer.body], [404, { detail: 'identity_provider_not_found' }]);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('PATCH changes the named fields; equal values write nothing; the key stays', async () => {
    const provider = await made(register(fresh({ groupMappings: { a: 'alpha', b: 'beta' } })));
    const { key, id } = provider;
    const changes = { groupMappings: { b: 'beta', c: 'gamma' }, jwksCacheTtlSeconds: 0 };
    const expected = { ...provider, group_mappings: { b: 'beta', c: 'gamma' }, jwks_cache_ttl_seconds: 0 };
    assert.deepEqual((await identity.patch(path(key), changes)).body, expected);
    assert.deepEqual((await identity.get(path(key))).body, expected);
    assert.deepEqual(await lastAudit(), [
      'identity_providers.update',
      'bootstrap',
      'allowed',
      'identity_provider',
      id,
      `provider:${key} changed:group_mappings,jwks_cache_ttl_seconds`,
    ]);
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.payload],
      ['identity_provider.updated', { identityProviderId: id, key, lifecycleProfile: 'read_only' }],
    );
    const before = await storeCounts(identity);
    assert.deepEqual(
      (await identity.patch(path(key), { groupMappings: { c: 'gamma', b: 'beta' } })).body,
      expected,
    );
    assert.deepEqual((await identity.patch(path(key), {})).body, expected);
    for (const bad of [{ key: 'other-key' }, { linkedPeople: 'keep' }, { audience: '' }, { jwksUri: null }])
      assert.equal((await identity.patch(path(key), bad)).status, 422);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('every choice can be changed', async () => {
    const { key } = await made(register(fresh()));
    const changes = {
      audience: 'other',
      jwksUri: 'https://keys.example',
      subjectClaim: 'oid',
      externalIdClaim: 'employee',
      groupClaim: 'roles',
      displayNameClaim: 'name',
      emailClaim: 'mail',
      unknownPeople: 'request',
      admit: { domains: ['example.com'], groups: ['staff'], role: 'member' },
      offered: true,
      groupMappings: { x: 'xx-group' },
      requiredAcrValues: ['urn:mfa'],
      requiredAmrValues: ['otp'],
      authorizedParties: ['x'.repeat(200), ...Array.from({ length: 49 }, (_, index) => `client-${index}`)],
      lifecycleProfile: 'managed',
      jwksCacheTtlSeconds: 1,
      jwksStaleGraceSeconds: 2,
    };
    const changed = await made(identity.patch(path(key), changes));
    const sent = await made(register(fresh(changes)));
    const same = ({
      id: _id,
      key: _key,
      issuer: _issuer,
      created_at: _at,
      ...rest
    }: Record<string, unknown>) => rest;
    assert.deepEqual(same(changed), same(sent));
  });

  test('a provider with an active SCIM source cannot become read-only', async () => {
    const { tenantId: tenant } = await makeProvisioning(identity);
    const { status, body } = await identity.patch(path('entra', tenant), { lifecycleProfile: 'read_only' });
    assert.deepEqual([status, body], [409, { detail: 'population_managed_by_directory' }]);
    assert.equal((await identity.patch(path('entra', tenant), { audience: 'other' })).status, 200);
  });

  test(':disable and :enable journal a transition once, and audit each call', async () => {
    const provider = await made(register(fresh()));
    const types: string[] = [];
    for (const [verb, status] of [
      ['disable', 'disabled'],
      ['disable', 'disabled'],
      ['enable', 'active'],
      ['enable', 'active'],
    ]) {
      const { status: code, body } = await identity.post(`${path(provider.key)}:${verb}`);
      assert.deepEqual([code, body], [200, { ...provider, status }]);
      assert.equal((await lastAudit())[0], `identity_providers.${verb}`);
    }
    for (const event of await journalOf(identity, tenantId))
      if (event.aggregate_id === provider.id) types.push(event.type);
    assert.deepEqual(types, [
      'identity_provider.registered',
      'identity_provider.disabled',
      'identity_provider.enabled',
    ]);
  });
});
