import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeAudience, makeBearer, makeServiceAccount, makeTenant } from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const create = (tenantId: string, body: object) => identity.post(`/tenants/${tenantId}/audiences`, body);
const patch = (tenantId: string, key: string, changes: object) =>
  identity.patch(`/tenants/${tenantId}/audiences/${key}`, changes);
const change = (tenantId: string, key: string, allowedScopes: unknown) =>
  patch(tenantId, key, { allowedScopes });

describe('POST …/audiences', () => {
  test('registers an audience; its scopes are sorted and without repeats', async () => {
    const tenantId = await makeTenant(identity);
    const { status, body } = await create(tenantId, {
      key: 'memory-service',
      allowedScopes: ['b', 'a', 'Z', 'b'],
    });
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), [
      'id',
      'tenant_id',
      'key',
      'allowed_scopes',
      'signing_algorithm',
      'status',
    ]);
    assert.deepEqual(
      [body.tenant_id, body.key, body.allowed_scopes, body.status],
      [tenantId, 'memory-service', ['Z', 'a', 'b'], 'active'],
    );
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.payload],
      ['audience.created', { audienceId: body.id, key: 'memory-service' }],
    );
    assert.equal((await auditOf(identity, tenantId)).at(-1)?.action, 'audiences.create');
    assert.deepEqual((await made(create(tenantId, { key: 'none' }))).allowed_scopes, []);
  });

  test('the checks run in the documented order: tenant, scopes, key', async () => {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId);
    const before = await storeCounts(identity);
    const key = 'control-plane';
    for (const [tenant, allowedScopes, status, detail] of [
      [randomUUID(), [''], 404, 'tenant_not_found'],
      [tenantId, [''], 422, 'invalid_scope'],
      [tenantId, ['x'.repeat(121)], 422, 'invalid_scope'],
      [tenantId, ['x'.repeat(120)], 409, 'audience_exists'],
    ] as const) {
      const answer = await create(tenant, { key, allowedScopes });
      assert.deepEqual([answer.status, answer.body], [status, { detail }]);
    }
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('the key has its form, and is taken per tenant', async () => {
    const tenantId = await makeTenant(identity);
    for (const key of ['ab', 'A.b', '-ab', 'ab.', 'a b', 'x'.repeat(121)])
      assert.equal((await create(tenantId, { key })).status, 422, key);
    for (const key of ['a.b', 'a_b', 'x'.repeat(120)])
      assert.equal((await create(tenantId, { key })).status, 201, key);
    assert.equal((await create(await makeTenant(identity), { key: 'a.b' })).status, 201);
  });
});

describe('GET …/audiences', () => {
  test('lists all of them by key, whatever their status', async () => {
    const tenantId = await makeTenant(identity);
    for (const key of ['b-key', 'a.key', 'a-key', 'a0key']) await makeAudience(identity, tenantId, key);
    await identity.pool.run(
      sql`update audiences set status = 'disabled' where tenant_id = ${tenantId} and key = 'a.key'`,
    );
    const { status, body } = await identity.get(`/tenants/${tenantId}/audiences`);
    assert.equal(status, 200);
    assert.deepEqual(
      body.map((audience: { key: string; status: string }) => [audience.key, audience.status]),
      [
        ['a-key', 'active'],
        ['a.key', 'disabled'],
        ['a0key', 'active'],
        ['b-key', 'active'],
      ],
    );
  });

  test('an unknown tenant is 404', async () => {
    const { status, body } = await identity.get(`/tenants/${randomUUID()}/audiences`);
    assert.deepEqual([status, body], [404, { detail: 'tenant_not_found' }]);
  });
});

describe('GET …/audiences/{key}', () => {
  test('reads one whatever its status; an unknown key or tenant is 404', async () => {
    const tenantId = await makeTenant(identity);
    const created = await made(create(tenantId, { key: 'control-plane', allowedScopes: ['a'] }));
    const path = `/tenants/${tenantId}/audiences/control-plane`;
    assert.deepEqual((await identity.get(path)).body, created);
    await patch(tenantId, 'control-plane', { status: 'disabled' });
    const { status, body } = await identity.get(path);
    assert.deepEqual([status, body], [200, { ...created, status: 'disabled' }]);
    for (const absent of [
      `/tenants/${tenantId}/audiences/unknown`,
      `/tenants/${randomUUID()}/audiences/control-plane`,
    ]) {
      const answer = await identity.get(absent);
      assert.deepEqual([answer.status, answer.body], [404, { detail: 'audience_not_found' }]);
    }
  });
});

describe('PATCH …/audiences/{key}', () => {
  test('replaces the whole list', async () => {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId, 'control-plane', ['a', 'b']);
    const { status, body } = await change(tenantId, 'control-plane', ['c', 'a', 'c']);
    assert.deepEqual([status, body.allowed_scopes], [200, ['a', 'c']]);
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.payload],
      ['audience.updated', { audienceId: body.id, key: 'control-plane', allowedScopes: ['a', 'c'] }],
    );
    assert.equal((await auditOf(identity, tenantId)).at(-1)?.action, 'audiences.update');
    assert.deepEqual((await identity.get(`/tenants/${tenantId}/audiences`)).body, [body]);
  });

  test('an equal list in any order changes nothing: no event, no audit row', async () => {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId, 'control-plane', ['a', 'b']);
    const before = await storeCounts(identity);
    const { status, body } = await change(tenantId, 'control-plane', ['b', 'a', 'b']);
    assert.deepEqual([status, body.allowed_scopes], [200, ['a', 'b']]);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('an unknown key or tenant is 404, before a bad scope; the list is required', async () => {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId);
    for (const [tenant, key] of [
      [tenantId, 'unknown'],
      [randomUUID(), 'control-plane'],
    ] as const) {
      const { status, body } = await change(tenant, key, ['']);
      assert.deepEqual([status, body], [404, { detail: 'audience_not_found' }]);
    }
    const bad = await change(tenantId, 'control-plane', ['']);
    assert.deepEqual([bad.status, bad.body], [422, { detail: 'invalid_scope' }]);
    const empty = await patch(tenantId, 'control-plane', {});
    assert.deepEqual(
      [empty.status, empty.body],
      [422, { detail: [{ type: 'missing', loc: ['body', 'allowedScopes'], msg: 'Required' }] }],
    );
    for (const body of [{ allowedScopes: null }, { status: 'paused' }, { status: null }, { key: 'x' }])
      assert.equal((await patch(tenantId, 'control-plane', body)).status, 422);
  });

  test('a status alone leaves the list, both change together, and an equal status writes nothing', async () => {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId, 'control-plane', ['a', 'b']);
    for (const [changes, expected, told, reason] of [
      [{ status: 'disabled' }, ['a', 'b'], { status: 'disabled' }, 'changed:status status:disabled'],
      [
        { status: 'active', allowedScopes: ['c'] },
        ['c'],
        { status: 'active' },
        'changed:allowed_scopes,status status:active',
      ],
      [{ status: 'active', allowedScopes: ['d'] }, ['d'], {}, 'changed:allowed_scopes'],
    ] as const) {
      const { status, body } = await patch(tenantId, 'control-plane', changes);
      assert.deepEqual([status, body.allowed_scopes, body.status], [200, expected, changes.status]);
      const event = (await journalOf(identity, tenantId)).at(-1);
      assert.equal(event.type, 'audience.updated');
      assert.deepEqual(event.payload, {
        audienceId: body.id,
        key: 'control-plane',
        allowedScopes: expected,
        ...told,
      });
      const audited = (await auditOf(identity, tenantId)).at(-1);
      assert.deepEqual([audited?.action, audited?.reason], ['audiences.update', reason]);
    }
    const before = await storeCounts(identity);
    for (const changes of [{ status: 'active' }, { status: 'active', allowedScopes: ['d'] }])
      assert.equal((await patch(tenantId, 'control-plane', changes)).status, 200);
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('while an audience is disabled nobody gets a token for it, and nothing new may name it', async () => {
    const { tenantId, principalId, token } = await makeBearer(identity);
    const { clientId, clientSecret } = await makeServiceAccount(identity, tenantId);
    const audience = 'control-plane';
    const issuePath = `/tenants/${tenantId}/principals/${principalId}/platform-access-tokens`;
    const outcomes = async () => {
      const asked = [
        identity.request('POST', '/api/v1/platform-access-tokens:exchange', { body: { token, audience } }),
        identity.request('POST', '/api/v1/tokens/exchange', { body: { clientId, clientSecret, audience } }),
        identity.post(
          issuePath,
          { name: 'a token', audiences: [audience] },
          { 'idempotency-key': randomUUID() },
        ),
        identity.post(`/tenants/${tenantId}/service-accounts`, { displayName: 'x', audiences: [audience] }),
      ];
      return (await Promise.all(asked)).map(({ status, body }) => `${status} ${body.detail ?? ''}`.trim());
    };
    assert.deepEqual(await outcomes(), ['200', '200', '201', '201']);
    await patch(tenantId, audience, { status: 'disabled' });
    assert.deepEqual(await outcomes(), [
      '403 audience_not_allowed',
      '403 audience_not_allowed',
      '422 unknown_audience',
      '422 unknown_audience',
    ]);
    await patch(tenantId, audience, { status: 'active' });
    assert.deepEqual(await outcomes(), ['200', '200', '201', '201']);
  });
});
