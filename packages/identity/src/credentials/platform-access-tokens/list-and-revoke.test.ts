import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Answer, startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makeBearer, makePrincipal, makeTenant, makeToken } from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

describe('GET …/platform-access-tokens', () => {
  const ids = (list: { id: string }[]) => list.map(({ id }) => id);

  test('lists by creation; revoked ones on request, expired ones always', async () => {
    const { tenantId, principalId, credential: first } = await makeBearer(identity);
    const other = await makePrincipal(identity, tenantId);
    const { credential: second } = await makeToken(identity, tenantId, other);
    const { credential: third } = await makeToken(identity, tenantId, principalId);
    await identity.pool.run(
      sql`update platform_access_tokens set expires_at = now() - interval '1 day' where id = ${third.id}`,
    );
    await identity.post(`/tenants/${tenantId}/platform-access-tokens/${first.id}:revoke`);
    const path = `/tenants/${tenantId}/platform-access-tokens`;
    assert.deepEqual(ids((await identity.get(path)).body), [second.id, third.id]);
    assert.deepEqual(ids((await identity.get(`${path}?includeRevoked=false`)).body), [second.id, third.id]);
    assert.deepEqual(ids((await identity.get(`${path}?includeRevoked=true`)).body), [
      first.id,
      second.id,
      third.id,
    ]);
    const mine = await identity.get(`${path}?includeRevoked=true&principalId=${principalId}`);
    assert.deepEqual(ids(mine.body), [first.id, third.id]);
    assert.deepEqual((await identity.get(`${path}?principalId=${randomUUID()}`)).body, []);
  });

  test('an unknown tenant has none; a malformed filter is refused', async () => {
    const path = `/tenants/${randomUUID()}/platform-access-tokens`;
    const { status, body } = await identity.get(path);
    assert.deepEqual([status, body], [200, []]);
    for (const query of ['principalId=x', 'includeRevoked=maybe', 'limit=0', 'limit=501', 'after=x'])
      assert.equal((await identity.get(`${path}?${query}`)).status, 422);
  });
});

describe('GET …/platform-access-tokens?limit', () => {
  test('gives an array of that length, and a Link to the next page that keeps the filters', async () => {
    const { tenantId, principalId, credential } = await makeBearer(identity);
    const made = [credential.id];
    for (let count = 0; count < 4; count += 1)
      made.push((await makeToken(identity, tenantId, principalId)).credential.id);
    await makeToken(identity, tenantId, await makePrincipal(identity, tenantId));
    await identity.post(`/tenants/${tenantId}/platform-access-tokens/${made[2]}:revoke`);

    const list = `/tenants/${tenantId}/platform-access-tokens`;
    const seen: string[][] = [];
    let address: string | undefined = `${list}?limit=2&includeRevoked=true&principalId=${principalId}`;
    while (address !== undefined) {
      const { body, headers, status }: Answer = await identity.get(address);
      assert.equal(status, 200);
      seen.push(body.map(({ id }: { id: string }) => id));
      const next: string | undefined = /^<(\?[^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
      address = next && `${list}${next}`;
    }
    assert.deepEqual(seen, [[made[0], made[1]], [made[2], made[3]], [made[4]]]);

    const whole = await identity.get(`${list}?includeRevoked=true`);
    assert.deepEqual([whole.body.length, whole.headers.get('link')], [6, null]);
    const exact = await identity.get(`${list}?limit=6&includeRevoked=true`);
    assert.deepEqual([exact.body, exact.headers.get('link')], [whole.body, null]);
  });
});

describe('GET …/platform-access-tokens/{credentialId}', () => {
  test('reads a token as the list shows it, a revoked one too', async () => {
    const { tenantId, credential, token } = await makeBearer(identity);
    const path = `/tenants/${tenantId}/platform-access-tokens/${credential.id}`;
    assert.deepEqual((await identity.get(path)).body, credential);
    await identity.post(`${path}:revoke`);
    const { body } = await identity.get(path);
    const list = await identity.get(`/tenants/${tenantId}/platform-access-tokens?includeRevoked=true`);
    assert.deepEqual([body, body.revokeReason], [list.body[0], 'revoked']);
    assert.ok(!JSON.stringify(body).includes(token));
  });

  test('an unknown token is 404, also that of another tenant', async () => {
    const { tenantId, credential } = await makeBearer(identity);
    const otherId = await makeTenant(identity);
    for (const path of [
      `${otherId}/platform-access-tokens/${credential.id}`,
      `${tenantId}/platform-access-tokens/${randomUUID()}`,
    ]) {
      const { status, body } = await identity.get(`/tenants/${path}`);
      assert.deepEqual([status, body], [404, { detail: 'credential_not_found' }]);
    }
  });
});

describe('POST …/platform-access-tokens/{credentialId}:revoke', () => {
  test('revokes with the reason given; repeats as 204, and the first reason stays', async () => {
    const { tenantId, principalId, credential } = await makeBearer(identity);
    const path = `/tenants/${tenantId}/platform-access-tokens/${credential.id}:revoke`;
    const first = await identity.post(`${path}?reason=lost%20laptop`);
    assert.deepEqual([first.status, first.body], [204, '']);
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.aggregate_type, event.aggregate_id],
      ['credential.revoked', 'platform_access_token', credential.id],
    );
    assert.deepEqual(event.payload, {
      credentialId: credential.id,
      principalId,
      publicPrefix: credential.publicPrefix,
      kind: 'platform_access_token',
      audiences: ['control-plane'],
      reason: 'lost laptop',
    });
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.reason],
      ['platform_access_tokens.revoke', 'bootstrap', `pat:${credential.publicPrefix} reason:lost laptop`],
    );
    const before = await storeCounts(identity);
    assert.equal((await identity.post(`${path}?reason=other`)).status, 204);
    assert.deepEqual(await storeCounts(identity), before);
    const list = await identity.get(`/tenants/${tenantId}/platform-access-tokens?includeRevoked=true`);
    assert.equal(list.body[0].revokeReason, 'lost laptop');
  });

  test('the reason is "revoked" by default, and has at most 200 characters', async () => {
    const { tenantId, credential } = await makeBearer(identity);
    const path = `/tenants/${tenantId}/platform-access-tokens/${credential.id}:revoke`;
    assert.equal((await identity.post(`${path}?reason=${'x'.repeat(201)}`)).status, 422);
    assert.equal((await identity.post(path)).status, 204);
    const list = await identity.get(`/tenants/${tenantId}/platform-access-tokens?includeRevoked=true`);
    assert.equal(list.body[0].revokeReason, 'revoked');
  });

  test('an unknown token is 404, also that of another tenant', async () => {
    const { credential } = await makeBearer(identity);
    const tenantId = await makeTenant(identity);
    for (const id of [credential.id, randomUUID()]) {
      const { status, body } = await identity.post(
        `/tenants/${tenantId}/platform-access-tokens/${id}:revoke`,
      );
      assert.deepEqual([status, body], [404, { detail: 'credential_not_found' }]);
    }
  });
});
