import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, type TestContext, test } from 'node:test';
import { type Statement, sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeBearer, makeToken } from '../../testing/objects.ts';
import { auditOf } from '../../testing/records.ts';
import { until } from '../../testing/waiting.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const tokensCount = 1250;
const firstBatch = 100;

/** An agent with many tokens; `last` is the newest token. */
async function makeHolder() {
  const { tenantId, principalId, credential } = await makeBearer(identity);
  await identity.pool.run(sql`
    insert into platform_access_tokens (id, tenant_id, principal_id, kind, name, public_prefix, secret_hash, audiences,
      scope_ceiling, origin, created_at, expires_at)
    select gen_random_uuid(), tenant_id, principal_id, kind, name, left(md5(id::text || n), 12),
      md5(id::text || n) || md5(n::text), audiences, scope_ceiling, origin, created_at, expires_at
    from platform_access_tokens, generate_series(1, ${tokensCount - 2}) n where id = ${credential.id}`);
  const last = await makeToken(identity, tenantId, principalId);
  return { tenantId, principalId, last, path: `/tenants/${tenantId}/principals/${principalId}` };
}

/** Keeps rows locked until `hold`'s result is called, so that the job passes over them. */
async function hold(t: TestContext, rows: Statement<unknown>): Promise<() => Promise<void>> {
  const end = Promise.withResolvers<void>();
  const holding = Promise.withResolvers<void>();
  const done = identity.pool.transaction(async (tx) => {
    await tx.rows(rows);
    holding.resolve();
    await end.promise;
  });
  const release = async () => {
    end.resolve();
    await done;
  };
  t.after(release);
  await Promise.race([holding.promise, done]);
  return release;
}

/** All tokens except those of the first batch. */
const restOf = (principalId: string) => sql`
  select id from platform_access_tokens where id in (
    select id from platform_access_tokens where principal_id = ${principalId}
    order by created_at, id offset ${firstBatch})
  for update`;

/** The state of a principal after a disable. */
const endingOf = (principalId: string) =>
  sql`select id from endings where principal_id = ${principalId} for update`;

async function countLive(principalId: string): Promise<number | undefined> {
  const row = await identity.pool.row<{ count: number }>(sql`
    select count(*) as count from platform_access_tokens where principal_id = ${principalId} and revoked_at is null`);
  return row?.count;
}

async function countEvents(tenantId: string) {
  return identity.pool.row(sql`
    select count(*) as events, count(distinct aggregate_id) as tokens
    from events where tenant_id = ${tenantId} and type = 'credential.revoked'`);
}

const exchange = (token: string) =>
  identity.post('/platform-access-tokens:exchange', { token, audience: 'control-plane' });

test('a disable answers after the first 100 tokens; the others are refused at once, and revoked in batches', async (t) => {
  const { tenantId, principalId, last, path } = await makeHolder();
  const other = await identity.another();
  const releaseTokens = await hold(t, restOf(principalId));
  const disabled = await made(other.post(`${path}:disable`, undefined, { 'x-request-id': 'the-disable' }));
  assert.equal(disabled.revokedCredentials, tokensCount);
  assert.equal(await countLive(principalId), tokensCount - firstBatch);
  assert.equal((await made(other.post(`${path}:disable`))).revokedCredentials, 0);
  const release = await hold(t, endingOf(principalId));
  await releaseTokens();
  // Another process completes the work of one that has stopped.
  await other.close();

  await made(identity.post(`${path}:enable`));
  const later = await makeToken(identity, tenantId, principalId);
  const tokens = `/tenants/${tenantId}/platform-access-tokens`;
  const idOfLast = last.credential.id;
  const refused = await exchange(last.token);
  assert.deepEqual([refused.status, refused.body.detail], [401, 'invalid_token']);
  const listed = await made(identity.get(tokens));
  assert.deepEqual(
    listed.map(({ id }: { id: string }) => id),
    [later.credential.id],
  );
  const all = await made(identity.get(`${tokens}?includeRevoked=true`));
  const shown = all.find(({ id }: { id: string }) => id === idOfLast);
  assert.equal(shown.revokeReason, 'principal_disabled');
  assert.notEqual(shown.revokedAt, null);
  const rotated = await identity.post(
    `${tokens}/${idOfLast}:rotate`,
    {},
    { 'idempotency-key': randomUUID() },
  );
  assert.equal(rotated.body.detail, 'credential_not_active');
  assert.equal((await identity.post(`${tokens}/${idOfLast}:revoke?reason=again`)).status, 204);
  assert.equal((await exchange(later.token)).status, 200);

  await release();
  await until(async () => (await countLive(principalId)) === 1, 'the others are revoked');
  assert.equal((await exchange(later.token)).status, 200);
  const afterwards = await made(identity.get(`${tokens}?includeRevoked=true`));
  assert.deepEqual(
    afterwards.find(({ id }: { id: string }) => id === idOfLast),
    shown,
  );
  assert.deepEqual(await countEvents(tenantId), { events: tokensCount, tokens: tokensCount });
  const audits = (await auditOf(identity, tenantId)).filter(
    ({ action }) => action === 'platform_access_tokens.revoke',
  );
  assert.equal(audits.length, tokensCount);
  assert.deepEqual(
    [...new Set(audits.map((row) => `${row.actor_ref} ${row.request_id}`))],
    ['bootstrap the-disable'],
  );
});

test('two processes revoke the tokens that a disable left: each is recorded once', async (t) => {
  const { tenantId, principalId, path } = await makeHolder();
  const other = await identity.another();
  t.after(() => other.close());
  await made(identity.post(`${path}:disable`));
  await until(async () => (await countLive(principalId)) === 0, 'all are revoked');
  assert.deepEqual(await countEvents(tenantId), { events: tokensCount, tokens: tokensCount });
  const found = await made(identity.get(`/events?tenantId=${tenantId}&type=principal.disabled`));
  const [{ payload }] = found.items;
  assert.deepEqual(payload, { principalId, revokedCredentials: tokensCount });
});
