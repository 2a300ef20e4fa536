import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { clashTokensNamed } from '../../testing/clash.ts';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import {
  made,
  makeAudience,
  makeBearer,
  makePrincipal,
  makeTenant,
  makeToken,
  signIn,
} from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

function rotate(tenantId: string, credentialId: string, key: string = randomUUID(), body: unknown = {}) {
  const path = `/tenants/${tenantId}/platform-access-tokens/${credentialId}:rotate`;
  return identity.post(path, body, { 'idempotency-key': key });
}

async function readAll(tenantId: string) {
  return (await identity.get(`/tenants/${tenantId}/platform-access-tokens?includeRevoked=true`)).body;
}

describe('rotating a token', () => {
  test('makes a successor of the same reach and end; the predecessor is revoked without an event of its own', async () => {
    const { tenantId, credential, token } = await makeBearer(identity, { expiresInSeconds: 1000 });
    const { status, body } = await rotate(tenantId, credential.id);
    assert.equal(status, 201);
    assert.match(body.token, /^iam_pat_/);
    assert.notEqual(body.token, token);
    const { id, publicPrefix, createdAt, ...rest } = body.credential;
    assert.ok(createdAt >= credential.createdAt);
    const { id: formerId, publicPrefix: formerPrefix, createdAt: _, ...former } = credential;
    assert.deepEqual(rest, { ...former, rotatedFromId: formerId });

    const [predecessor] = await readAll(tenantId);
    assert.deepEqual([predecessor.id, predecessor.revokeReason], [formerId, 'rotated']);
    assert.notEqual(predecessor.revokedAt, null);
    const journal = await journalOf(identity, tenantId);
    const event = journal.at(-1);
    assert.ok(journal.every(({ type }) => type !== 'credential.revoked'));
    assert.deepEqual([event.type, event.aggregate_id], ['platform_access_token.rotated', id]);
    assert.deepEqual(event.payload, {
      credentialId: id,
      principalId: credential.principalId,
      publicPrefix,
      kind: 'platform_access_token',
      audiences: ['control-plane'],
      rotatedFromId: formerId,
      rotatedFromPrefix: formerPrefix,
    });
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.resource_id, audited?.reason],
      ['platform_access_tokens.rotate', id, `pat:${publicPrefix} rotated_from:${formerPrefix}`],
    );
  });

  test('takes an empty object or no body at all, and no field', async () => {
    const { tenantId, credential } = await makeBearer(identity);
    assert.equal(
      (await rotate(tenantId, credential.id, '', { name: 'x' })).body.detail[0].type,
      'extra_forbidden',
    );
    assert.equal((await rotate(tenantId, credential.id, randomUUID(), undefined)).status, 201);
  });

  test('a person needs no fresh sign-in for it', async () => {
    const tenantId = await makeTenant(identity);
    await makeAudience(identity, tenantId);
    const person = await makePrincipal(identity, tenantId, 'human');
    await signIn(identity, tenantId, person, { acr: 'urn:mfa', amr: ['otp'] });
    const { credential } = await makeToken(identity, tenantId, person);
    await identity.pool.run(
      sql`update authentication_contexts set recorded_at = now() - interval '1 day' where principal_id = ${person}`,
    );
    const { credential: successor } = await made(rotate(tenantId, credential.id));
    const snapshots = await identity.pool.rows<object>(sql`
      select origin, authentication_context_id, auth_issuer, acr, amr, auth_time from platform_access_tokens
      where id in (${credential.id}, ${successor.id})`);
    assert.deepEqual(snapshots[0], snapshots[1]);
  });

  test('the checks run in the documented order', async () => {
    const { tenantId, principalId, credential } = await makeBearer(identity);
    const refused = async ([status, detail]: [number, string], tenant: string, id: string, key?: string) => {
      const answer = await rotate(tenant, id, key);
      assert.deepEqual([answer.status, answer.body], [status, { detail }]);
    };
    const set = (table: string, status: string) =>
      identity.pool.run({
        text: `update ${table} set status = $1 where ${table === 'tenants' ? 'id' : table === 'principals' ? 'id' : 'principal_id'} = $2`,
        values: [status, table === 'tenants' ? tenantId : principalId],
      });
    await refused([400, 'idempotency_key_required'], randomUUID(), randomUUID(), ' ');
    await refused([404, 'credential_not_found'], tenantId, randomUUID());
    await refused([404, 'credential_not_found'], await makeTenant(identity), credential.id);
    await set('principals', 'paused');
    await refused([409, 'principal_not_active'], tenantId, credential.id);
    await set('memberships', 'disabled');
    await refused([404, 'principal_not_found'], tenantId, credential.id);
    await set('tenants', 'disabled');
    await refused([404, 'tenant_not_found'], tenantId, credential.id);
    await identity.pool.run(
      sql`update platform_access_tokens set expires_at = now() - interval '1 second' where id = ${credential.id}`,
    );
    await refused([409, 'credential_not_active'], tenantId, credential.id);
    assert.equal((await readAll(tenantId)).length, 1);
  });

  test('a revoked token is 409, and stays as it is', async () => {
    const { tenantId, credential } = await makeBearer(identity);
    await identity.post(`/tenants/${tenantId}/platform-access-tokens/${credential.id}:revoke?reason=lost`);
    const { status, body } = await rotate(tenantId, credential.id);
    assert.deepEqual([status, body], [409, { detail: 'credential_not_active' }]);
    assert.equal((await readAll(tenantId))[0].revokeReason, 'lost');
  });

  test('a clash is 409 credential_conflict and leaves the predecessor alive', async () => {
    const { tenantId, principalId } = await makeBearer(identity);
    const { credential } = await makeToken(identity, tenantId, principalId, { name: 'clash' });
    await clashTokensNamed(identity, 'clash');
    const key = randomUUID();
    const { status, body } = await rotate(tenantId, credential.id, key);
    assert.deepEqual([status, body], [409, { detail: 'credential_conflict' }]);
    await identity.pool.run({ text: 'drop trigger clash on platform_access_tokens', values: [] });
    assert.equal((await rotate(tenantId, credential.id, key)).status, 201);
  });
});

describe('a key that is used again', () => {
  test('repeats the successor without its secret', async () => {
    const { tenantId, credential } = await makeBearer(identity);
    const key = randomUUID();
    const first = await made(rotate(tenantId, credential.id, key));
    const before = await storeCounts(identity);
    const again = await rotate(tenantId, credential.id, key);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual(again.body, { credential: first.credential, token: null });
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('for another token or for issuing it is refused', async () => {
    const { tenantId, principalId, credential } = await makeBearer(identity);
    const { credential: other } = await makeToken(identity, tenantId, principalId);
    const key = randomUUID();
    await made(rotate(tenantId, credential.id, key));
    const path = `/tenants/${tenantId}/principals/${principalId}/platform-access-tokens`;
    for (const answer of [
      await rotate(tenantId, other.id, key),
      await rotate(tenantId, randomUUID(), key),
      await identity.post(path, { name: 'x', audiences: ['control-plane'] }, { 'idempotency-key': key }),
    ])
      assert.deepEqual([answer.status, answer.body], [409, { detail: 'idempotency_key_reused' }]);
  });
});

describe('concurrent requests', () => {
  test('an issue and a rotation with one Idempotency-Key: one makes a token, the other is 409 idempotency_key_reused', async () => {
    for (let round = 0; round < byDepth(10, 100); round += 1) {
      const { tenantId, principalId, credential } = await makeBearer(identity);
      const key = randomUUID();
      const path = `/tenants/${tenantId}/principals/${principalId}/platform-access-tokens`;
      const wanted = { name: 'x', audiences: ['control-plane'] };
      const issue = () => identity.post(path, wanted, { 'idempotency-key': key });
      const replace = () => rotate(tenantId, credential.id, key);
      const [first, second] = round % 2 === 0 ? [issue, replace] : [replace, issue];
      const started = [first(), second()];
      const answers = await Promise.all(round % 2 === 0 ? started : started.reverse());
      const outcomes = answers.map((answer) => (answer.status === 201 ? 'made' : answer.body.detail));
      assert.deepEqual([...outcomes].sort(), ['idempotency_key_reused', 'made']);
      // A rotation that lost the race leaves its token unchanged.
      const live = (await readAll(tenantId)).filter((one: { revokedAt: unknown }) => one.revokedAt === null);
      assert.equal(live.length, outcomes[0] === 'made' ? 2 : 1);
    }
  });

  test('a revocation and a rotation at the same moment: one of them is first, and nothing is left between', async () => {
    for (let round = 0; round < byDepth(10, 100); round += 1) {
      const { tenantId, credential } = await makeBearer(identity);
      const [rotated, revoked] = await Promise.all([
        rotate(tenantId, credential.id),
        identity.post(`/tenants/${tenantId}/platform-access-tokens/${credential.id}:revoke`),
      ]);
      assert.equal(revoked.status, 204);
      const [predecessor, ...successors] = await readAll(tenantId);
      const types = (await journalOf(identity, tenantId)).map(({ type }) => type);
      if (rotated.status === 201) {
        assert.deepEqual([predecessor.revokeReason, successors.length], ['rotated', 1]);
        assert.ok(!types.includes('credential.revoked'));
      } else {
        assert.equal(rotated.body.detail, 'credential_not_active');
        assert.deepEqual([predecessor.revokeReason, successors.length], ['revoked', 0]);
        assert.equal(types.at(-1), 'credential.revoked');
      }
    }
  });

  test('a disable and a rotation at the same moment leave no live token', async () => {
    for (let round = 0; round < byDepth(10, 100); round += 1) {
      const { tenantId, principalId, credential } = await makeBearer(identity);
      const [rotated, disabled] = await Promise.all([
        rotate(tenantId, credential.id),
        identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`),
      ]);
      assert.equal(disabled.status, 200);
      // A 503 is allowed: a disable closes connections that block it for 600 ms, which happens on a slow machine.
      assert.ok([201, 409, ...byDepth([503], [])].includes(rotated.status), JSON.stringify(rotated.body));
      assert.deepEqual((await identity.get(`/tenants/${tenantId}/platform-access-tokens`)).body, []);
    }
  });
});
