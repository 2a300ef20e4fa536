import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Statement, sql } from '@baton/kernel/database/sql';
import type { TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { auditOf } from '../../testing/records.ts';
import { makePair, nowSeconds } from '../federation/testing/upstream.ts';
import { githubKey, makeWorkloadRealm, present, signJob, startWorkloads } from './testing/workloads.ts';
import { sweepUsedAssertions } from './used-assertions.ts';

let identity: TestIdentity;
let other: TestIdentity;
before(async () => {
  identity = await startWorkloads({ IAM_USED_ASSERTIONS_MAX: '100' });
  other = await identity.another();
});
after(() => identity.close());

const singleUse = { singleUse: true };

test('a replayed jti is refused by a rule of single use, in every process, and accepted by others', async () => {
  const realm = await makeWorkloadRealm(identity, singleUse);
  const token = await signJob(realm);
  assert.equal((await present(identity, token)).status, 200);
  const sameJti = await signJob(realm, { jti: 'once', iat: nowSeconds() });
  assert.equal((await present(other, sameJti)).status, 200);
  for (const [process, replayed] of [
    [identity, token],
    [other, token],
    [identity, sameJti],
    [identity, await signJob(realm, { jti: 'once', exp: nowSeconds() + 299 })],
  ] as const) {
    const { status, body } = await present(process, replayed);
    assert.deepEqual([status, body], [400, { error: 'invalid_grant' }]);
  }
  assert.equal((await auditOf(identity, realm.tenantId)).at(-1)?.reason, 'assertion_used');
  const usual = await makeWorkloadRealm(identity);
  const again = await signJob(usual);
  for (const process of [identity, other, identity])
    assert.equal((await present(process, again)).status, 200);
});

test('of the same jti presented at once to two processes, one is accepted', async () => {
  const realm = await makeWorkloadRealm(identity, singleUse);
  for (let round = 0; round < 5; round += 1) {
    const token = await signJob(realm);
    const presented = [identity, other, identity, other].map((process) => present(process, token));
    const accepted = (await Promise.all(presented)).filter(({ status }) => status === 200);
    assert.equal(accepted.length, 1);
  }
});

test('a failure of this service does not use up a token, and the job may try again', async () => {
  const realm = await makeWorkloadRealm(identity, singleUse);
  const token = await signJob(realm);
  const fails = async (setUp: Statement<unknown>, tearDown: Statement<unknown>) => {
    await identity.pool.run(setUp);
    const { status } = await present(identity, token);
    await identity.pool.run(tearDown);
    assert.ok(status >= 500, String(status));
  };
  // The audience's algorithm has no key, so nothing can be signed.
  const useAlgorithm = (algorithm: string) => sql`
    update audiences set signing_algorithm = ${algorithm} where tenant_id = ${realm.tenantId}`;
  await fails(useAlgorithm('ES256'), useAlgorithm('RS256'));
  // The audit record can't be written.
  await fails(
    sql`
      alter table audit_records add constraint none_for_a_test check (action <> 'workload_rules.exchange') not valid`,
    sql`alter table audit_records drop constraint none_for_a_test`,
  );
  assert.equal((await present(identity, token)).status, 200);
  assert.equal((await present(identity, token)).status, 400);
});

test('a stranger does not use up a token that they can not sign', async () => {
  const realm = await makeWorkloadRealm(identity, singleUse);
  const jti = randomUUID();
  for (const changes of [{}, { ref: 'refs/heads/other' }, { exp: nowSeconds() - 1 }]) {
    const forged = await signJob(realm, { jti, ...changes }, {}, makePair(githubKey.kid));
    assert.equal((await present(identity, forged)).status, 400);
  }
  assert.equal((await present(identity, await signJob(realm, { jti, ref: 'x' }))).status, 400);
  assert.equal((await present(identity, await signJob(realm, { jti }))).status, 200);
});

test('a token without jti is refused by a rule of single use; a refused request uses none up', async () => {
  const realm = await makeWorkloadRealm(identity, singleUse);
  for (const jti of [undefined, '', 1, 'x'.repeat(501)])
    assert.equal((await present(identity, await signJob(realm, { jti }))).body.error, 'invalid_grant');
  const token = await signJob(realm);
  assert.equal((await present(identity, token, { audience: 'other' })).body.error, 'invalid_target');
  assert.equal((await present(identity, token, { scope: 'other' })).body.error, 'invalid_scope');
  assert.equal((await present(identity, token)).status, 200);
});

test('the jti of one provider is no jti of another', async () => {
  for (let count = 0; count < 2; count += 1) {
    const realm = await makeWorkloadRealm(identity, singleUse);
    assert.equal((await present(identity, await signJob(realm, { jti: 'shared' }))).status, 200);
  }
});

test('as many are remembered as the setting allows, then jobs wait until some have expired', async () => {
  const realm = await makeWorkloadRealm(identity, singleUse);
  await identity.pool.run(sql`
    insert into used_assertions select ${realm.providerId}, 'jti ' || n, now() + interval '1 minute'
    from generate_series(1, 99) as n`);
  assert.equal((await present(identity, await signJob(realm))).status, 200);
  const { status, body, headers } = await present(identity, await signJob(realm));
  assert.deepEqual(
    [status, body, headers.get('retry-after')],
    [503, { error: 'temporarily_unavailable' }, '60'],
  );
  assert.equal(
    (await present(identity, await signJob(await makeWorkloadRealm(identity, singleUse)))).status,
    200,
  );
  await identity.pool.run(sql`
    update used_assertions set expires_at = now() - interval '1 second'
    where identity_provider_id = ${realm.providerId} and jti_hash = 'jti 1'`);
  assert.equal((await present(identity, await signJob(realm))).status, 200);
});

test('the number is exact, however many are presented at the same time', async () => {
  const realm = await makeWorkloadRealm(identity, singleUse);
  await identity.pool.run(sql`
    insert into used_assertions select ${realm.providerId}, 'jti ' || n, now() + interval '1 minute'
    from generate_series(1, 97) as n`);
  const tokens = await Promise.all(Array.from({ length: 12 }, () => signJob(realm)));
  const answers = await Promise.all(tokens.map((token, n) => present(n % 2 === 0 ? identity : other, token)));
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...Array(3).fill(200), ...Array(9).fill(503)]);
});

test('one rule may have half of them, so that its jobs do not stop those of other rules', async () => {
  const realm = await makeWorkloadRealm(identity, singleUse);
  const claims = { repository_id: { equals: '9' } };
  const { principalId } = realm;
  const fields = { principalId, claims, audiences: ['control-plane'], singleUse: true };
  await made(identity.post(`${realm.path}/workload-rules`, { key: 'another', ...fields }));
  await identity.pool.run(sql`
    insert into used_assertions (identity_provider_id, jti_hash, expires_at, workload_rule_id)
    select ${realm.providerId}, 'jti ' || n, now() + interval '1 minute', ${realm.rule.id}
    from generate_series(1, 50) as n`);
  assert.equal((await present(identity, await signJob(realm))).status, 503);
  assert.equal((await present(identity, await signJob(realm, { repository_id: '9' }))).status, 200);
});

test('they are stored as hashes, beyond their life, and deleted after it', async () => {
  const realm = await makeWorkloadRealm(identity, singleUse);
  const [jti, exp] = [randomUUID(), nowSeconds() + 300];
  await made(present(identity, await signJob(realm, { jti, exp })));
  const rows = () =>
    identity.pool.rows<{ jti_hash: string; left: number }>(sql`
      select jti_hash, extract(epoch from expires_at)::integer as left from used_assertions
      where identity_provider_id = ${realm.providerId}`);
  const [row] = await rows();
  assert.ok(row && !row.jti_hash.includes(jti) && row.left >= exp);
  await sweepUsedAssertions(identity.pool);
  assert.equal((await rows()).length, 1);
  await identity.pool.run(sql`
    update used_assertions set expires_at = now() - interval '1 second'
    where identity_provider_id = ${realm.providerId}`);
  await sweepUsedAssertions(identity.pool);
  assert.deepEqual(await rows(), []);
});
