import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import type { TestIdentity } from '../../testing/identity.ts';
import {
  adminScope,
  made,
  makeAudience,
  makePrincipal,
  makeServiceAccount,
  readScope,
  writeScope,
} from '../../testing/objects.ts';
import { auditOf, storeCounts } from '../../testing/records.ts';
import { until } from '../../testing/waiting.ts';
import { encode, rsa, signedToken } from '../federation/testing/forger.ts';
import { jwkOf, makePair, nowSeconds } from '../federation/testing/upstream.ts';
import {
  githubKey,
  jobClaims,
  makeWorkloadRealm,
  present,
  signJob,
  startWorkloads,
  type WorkloadRealm,
} from './testing/workloads.ts';

let identity: TestIdentity;
let realm: WorkloadRealm;
before(async () => {
  identity = await startWorkloads();
  realm = await makeWorkloadRealm(identity);
});
after(() => identity.close());

const grantRefused = [400, { error: 'invalid_grant' }];

/** Asserts the single response to any wrong assertion, which stores nothing but the reason in the audit record. */
async function assertRefused(at: WorkloadRealm, assertion: string, reason: string | undefined, what: string) {
  const { audits: before = 0, ...others } = await countRows();
  const answer = await present(identity, assertion);
  assert.deepEqual([answer.status, answer.body], grantRefused, what);
  assert.equal(answer.headers.get('www-authenticate'), null);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const added = reason === undefined ? 0 : 1;
  // The record of a wrong signature is written after the response.
  await until(async () => (await countRows())['audits'] === before + added, `${what} is recorded`);
  if (reason !== undefined) assert.equal((await auditOf(identity, at.tenantId)).at(-1)?.reason, reason, what);
  const { audits: _, ...left } = await countRows();
  assert.deepEqual(left, others, what);
}

const countRows = async () => (await storeCounts(identity)) as Record<string, number>;

describe('a token of a job', () => {
  test('is noted as a use of its rule, at most once in 30 seconds', async () => {
    const at = await makeWorkloadRealm(identity);
    const read = () => made(identity.get(`${at.path}/workload-rules/release`));
    assert.equal((await read()).lastUsedAt, null);
    await assertRefused(at, await signJob(at, { ref: 'refs/heads/other' }), 'no_rule_matches', 'another ref');
    assert.equal((await read()).lastUsedAt, null);
    await made(present(identity, await signJob(at)));
    const { lastUsedAt: first } = await read();
    assert.ok(Math.abs(Date.parse(first) - Date.now()) < 60_000, first);
    await made(present(identity, await signJob(at)));
    assert.equal((await read()).lastUsedAt, first);
    await identity.pool.run(
      sql`update workload_rules set last_used_at = now() - interval '31 seconds' where id = ${at.rule.id}`,
    );
    await made(present(identity, await signJob(at)));
    const [listed] = await made(identity.get(`${at.path}/workload-rules`));
    assert.ok(listed.lastUsedAt >= first);
  });

  test('is exchanged for an access token of one audience, without any stored secret', async () => {
    const { status, body, headers } = await present(identity, await signJob(realm), { scope: readScope });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.token_type, body.expires_in, body.scope], ['Bearer', 300, readScope]);
    assert.deepEqual([headers.get('cache-control'), headers.get('pragma')], ['no-store', 'no-cache']);
    const { jti: _, iat: _1, nbf: _2, exp: _3, session_id, ...claims } = decodeJwt(body.access_token);
    assert.deepEqual(claims, {
      iss: 'http://localhost:8010/iam',
      aud: 'control-plane',
      sub: realm.principalId,
      tenant_id: realm.tenantId,
      principal_type: 'agent',
      client_id: `idp:${realm.key}`,
      credential_id: realm.rule.id,
      scope: readScope,
      scope_ceiling: [readScope, writeScope],
    });
    const audited = (await auditOf(identity, realm.tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.resource_type, audited?.resource_id, audited?.outcome],
      ['workload_rules.exchange', realm.principalId, 'workload_rule', realm.rule.id, 'allowed'],
    );
    assert.equal(
      audited?.reason,
      `provider:${realm.key} rule:release audience:control-plane session:${session_id}`,
    );
  });

  test('gets all scopes of the rule without a scope, and may name the audience as resource', async () => {
    const { body } = await present(identity, await signJob(realm), {
      audience: '',
      resource: 'control-plane',
    });
    assert.equal(body.scope, `${readScope} ${writeScope}`);
  });

  test('is refused for another audience and beyond the ceiling, with the errors of RFC 6749 and 8707', async () => {
    await makeAudience(identity, realm.tenantId, 'memory-service');
    for (const [form, error] of [
      [{ audience: 'memory-service' }, 'invalid_target'],
      [{ audience: 'unknown' }, 'invalid_target'],
      [{ scope: adminScope }, 'invalid_scope'],
      [{ scope: `${readScope} x` }, 'invalid_scope'],
      [{ audience: '' }, 'invalid_request'],
      [{ assertion: '' }, 'invalid_request'],
      [{ tenant_id: 'no-uuid' }, 'invalid_request'],
    ] as const) {
      const { status, body } = await present(identity, await signJob(realm), form);
      assert.deepEqual([status, body], [400, { error }], JSON.stringify(form));
    }
    const denied = (await auditOf(identity, realm.tenantId))
      .filter(({ outcome }) => outcome === 'denied')
      .at(-1);
    assert.match(denied?.reason ?? '', /rule:release audience:control-plane scope_not_allowed$/);
  });

  test('acts as a workload, or as a service account without a session', async () => {
    for (const kind of ['workload', 'service_account']) {
      const at = await makeWorkloadRealm(identity);
      const principalId =
        kind === 'workload'
          ? await makePrincipal(identity, at.tenantId, kind)
          : (await makeServiceAccount(identity, at.tenantId)).principalId;
      await made(identity.patch(`${at.path}/workload-rules/release`, { principalId }));
      const claims = decodeJwt((await present(identity, await signJob(at))).body.access_token);
      assert.deepEqual([claims.sub, claims['principal_type']], [principalId, kind]);
      assert.equal('session_id' in claims, kind === 'workload');
    }
  });

  test('never gets a privileged scope', async () => {
    const scopeCeiling = ['fleet:admin', readScope];
    const at = await makeWorkloadRealm(identity);
    await made(
      identity.patch(`/tenants/${at.tenantId}/audiences/control-plane`, { allowedScopes: scopeCeiling }),
    );
    await made(identity.patch(`${at.path}/workload-rules/release`, { scopeCeiling }));
    assert.equal((await present(identity, await signJob(at))).body.scope, readScope);
    assert.equal(
      (await present(identity, await signJob(at), { scope: 'fleet:admin' })).body.error,
      'invalid_scope',
    );
  });
});

describe('one response for every wrong token:', () => {
  const now = nowSeconds();
  const wrong: readonly (readonly [string, object, string | undefined])[] = [
    ['another issuer', { iss: 'https://token.actions.example.com' }, undefined],
    ['another audience', { aud: 'https://sigstore.dev' }, undefined],
    ['another repository', { repository_id: '1' }, 'no_rule_matches'],
    ['another ref', { ref: 'refs/heads/feature' }, 'no_rule_matches'],
    ['expired', { iat: now - 600, exp: now - 1 }, 'token_expired'],
    ['not yet valid', { nbf: now + 120 }, 'invalid_token'],
    ['issued in the future', { iat: now + 120, exp: now + 400 }, 'invalid_token'],
    ['without exp', { exp: undefined }, 'invalid_token'],
    ['without iat', { iat: undefined }, 'invalid_token'],
    ['without sub', { sub: undefined }, 'invalid_token'],
    ['a claim that is missing', { repository_id: undefined }, 'no_rule_matches'],
    ['a claim of another type', { repository_id: { equals: '1' } }, 'no_rule_matches'],
    ['that lives longer than a day', { iat: now, exp: now + 86_401 }, 'lifetime_too_long'],
    ['with a proof of possession', { cnf: { jkt: 'x' } }, 'invalid_token'],
  ];
  for (const [name, changes, reason] of wrong)
    test(`${name} is refused`, async () => assertRefused(realm, await signJob(realm, changes), reason, name));

  test('unsigned', async () => {
    const claims = encode(jobClaims(realm));
    for (const alg of ['none', 'None', ''])
      await assertRefused(realm, `${encode({ alg, typ: 'JWT' })}.${claims}.`, 'unsupported_algorithm', alg);
  });

  test('signed by another key', async () => {
    const other = makePair(githubKey.kid);
    await assertRefused(realm, await signJob(realm, {}, {}, other), 'invalid_signature', 'same kid');
    const named = await signJob(realm, {}, {}, makePair('github-2'));
    await assertRefused(realm, named, 'unknown_signing_key', 'other kid');
    const own = await signJob(realm, {}, { jwk: jwkOf(other), jku: 'http://127.0.0.1/keys' }, other);
    await assertRefused(realm, own, 'invalid_signature', 'a key in the header');
  });

  test('an HMAC by the public key, and a key of another algorithm', async () => {
    const pem = githubKey.publicKey.export({ type: 'spki', format: 'pem' });
    const text = `${encode({ alg: 'HS256', kid: githubKey.kid })}.${encode(jobClaims(realm))}`;
    const hmac = createHmac('sha256', pem).update(text).digest();
    await assertRefused(realm, signedToken(text, hmac), 'unsupported_algorithm', 'HS256');
    const es = `${encode({ alg: 'ES256', kid: githubKey.kid })}.${encode(jobClaims(realm))}`;
    await assertRefused(realm, signedToken(es, rsa(es, githubKey.privateKey)), 'invalid_signature', 'ES256');
  });

  test('a changed or malformed text', async () => {
    const token = await signJob(realm);
    const [header, payload, signature] = token.split('.') as [string, string, string];
    for (const [text, reason] of [
      [`${header}.${encode(jobClaims(realm, { ref: 'x' }))}.${signature}`, 'invalid_signature'],
      [`${token}=`, 'invalid_signature'],
      [`${header}.${payload}`, 'invalid_token'],
      [`${header}.${payload}.${signature}.x`, 'invalid_token'],
      ['x', undefined],
      ['..', undefined],
      [`${header}.${encode([])}.${signature}`, undefined],
      [`${header}.${encode('null')}.${signature}`, undefined],
      [`${header}.${encode({ iss: 'x\0', aud: 'y' })}.${signature}`, undefined],
      [`${header}.${encode({ iss: 'https://x', aud: Array(21).fill('x') })}.${signature}`, undefined],
    ] as const) {
      keepSecret('assertion', text.length > 20 ? text : randomUUID());
      await assertRefused(realm, text, reason, text.slice(0, 40));
    }
  });

  test('our own access token and a token of another tenant', async () => {
    const { body } = await present(identity, await signJob(realm));
    await assertRefused(realm, body.access_token, undefined, 'own');
    const other = await makeWorkloadRealm(identity);
    await assertRefused(
      other,
      await signJob(realm, { aud: `https://baton.example/${other.tenantId}` }),
      'no_rule_matches',
      'other',
    );
  });
});

test('a clock that is up to 60 seconds ahead is tolerated', async () => {
  const iat = nowSeconds() + 50;
  assert.equal(
    (await present(identity, await signJob(realm, { iat, nbf: iat, exp: iat + 300 }))).status,
    200,
  );
});

test('the longest lifetime can be set for a rule', async () => {
  const at = await makeWorkloadRealm(identity, { lifetimeSecondsMax: 300 });
  const iat = nowSeconds();
  assert.equal((await present(identity, await signJob(at, { iat, exp: iat + 300 }))).status, 200);
  await assertRefused(at, await signJob(at, { iat, exp: iat + 301 }), 'lifetime_too_long', '301 s');
});

test('the requirements of the provider are those of its rules, too', async () => {
  const at = await makeWorkloadRealm(identity, {}, { requiredClaims: { event_name: ['push'] } });
  assert.equal((await present(identity, await signJob(at))).status, 200);
  await assertRefused(
    at,
    await signJob(at, { event_name: 'pull_request_target' }),
    'claim_not_allowed',
    'event',
  );
});

describe('of several rules', () => {
  const addRule = (at: WorkloadRealm, key: string, claims: object, principalId: string) =>
    made(
      identity.post(`${at.path}/workload-rules`, { key, claims, principalId, audiences: ['control-plane'] }),
    );

  test('the most specific one that matches counts', async () => {
    const at = await makeWorkloadRealm(identity);
    const [any, tags] = [
      await makePrincipal(identity, at.tenantId),
      await makePrincipal(identity, at.tenantId),
    ];
    const repository_id = { equals: at.repositoryId };
    await addRule(at, 'any-ref', { repository_id }, any);
    await addRule(at, 'tags', { repository_id, ref: { prefix: 'refs/tags/' } }, tags);
    for (const [ref, principalId] of [
      ['refs/heads/main', at.principalId],
      ['refs/heads/other', any],
      ['refs/tags/v1', tags],
    ]) {
      const { body } = await present(identity, await signJob(at, { ref }));
      assert.equal(decodeJwt(body.access_token).sub, principalId, ref);
    }
  });

  test('none counts if two match and neither is the more specific one', async () => {
    const at = await makeWorkloadRealm(identity);
    const repository_id = { equals: at.repositoryId };
    const claims = { repository_id, event_name: { equals: 'push' } };
    const { key } = await addRule(at, 'pushes', claims, await makePrincipal(identity, at.tenantId));
    await assertRefused(at, await signJob(at), 'rules_ambiguous', 'another claim');
    assert.equal((await present(identity, await signJob(at, { event_name: 'schedule' }))).status, 200);
    const same = { repository_id, ref: { oneOf: ['refs/heads/main'] } };
    await made(identity.patch(`${at.path}/workload-rules/${key}`, { claims: same }));
    await assertRefused(at, await signJob(at), 'rules_ambiguous', 'the same claims');
  });
});

test('a tenant with the issuer and audience of another one neither receives its jobs nor stops them', async () => {
  const own = await makeWorkloadRealm(identity);
  const audience = `https://baton.example/${own.tenantId}`;
  const stranger = await makeWorkloadRealm(identity, {}, { audience });
  const claims = { repository_id: { equals: own.repositoryId }, ref: { equals: 'refs/heads/main' } };
  const specific = { ...claims, event_name: { equals: 'push' } };
  await made(identity.patch(`${stranger.path}/workload-rules/release`, { claims: specific }));
  await assertRefused(own, await signJob(own), undefined, 'no tenant is named');
  for (const at of [own, stranger]) {
    const { body } = await present(identity, await signJob(own), { tenant_id: at.tenantId });
    assert.equal(decodeJwt(body.access_token)['tenant_id'], at.tenantId);
  }
  assert.deepEqual((await present(identity, await signJob(own), { tenant_id: randomUUID() })).body, {
    error: 'invalid_grant',
  });
});

test('nothing is exchanged for a principal, membership, tenant, provider, rule or audience that is not active', async () => {
  for (const [table, column, reason] of [
    ['principals', 'principalId', 'principal_not_active'],
    ['memberships', 'principalId', 'membership_not_active'],
    ['tenants', 'tenantId', undefined],
    ['identity_providers', 'providerId', undefined],
    ['workload_rules', 'ruleId', 'no_rule_matches'],
  ] as const) {
    const at = await makeWorkloadRealm(identity);
    const id = { ...at, ruleId: at.rule.id }[column];
    const where = table === 'memberships' ? 'principal_id' : 'id';
    const close = `update ${table} set status = 'disabled' where ${where} = $1`;
    await identity.pool.run({ text: close, values: [id] });
    await assertRefused(at, await signJob(at), reason, table);
  }
  const at = await makeWorkloadRealm(identity);
  await made(identity.patch(`/tenants/${at.tenantId}/audiences/control-plane`, { status: 'disabled' }));
  assert.equal((await present(identity, await signJob(at))).body.error, 'invalid_target');
});

test('a revoked service account gets nothing, and a provider of people has no rules that count', async () => {
  const at = await makeWorkloadRealm(identity);
  const { principalId, clientId } = await makeServiceAccount(identity, at.tenantId);
  await made(identity.patch(`${at.path}/workload-rules/release`, { principalId }));
  assert.equal((await present(identity, await signJob(at))).status, 200);
  await identity.post(`/tenants/${at.tenantId}/service-accounts/${clientId}:revoke`);
  await assertRefused(at, await signJob(at), 'service_account_revoked', 'revoked');
  const people = await makeWorkloadRealm(identity);
  await made(identity.patch(people.path, { principalKind: 'human', unknownPeople: 'request' }));
  await assertRefused(people, await signJob(people), undefined, 'people');
});

test('failures count for their address, and then even a right token waits', async () => {
  const limited = await identity.another({ IAM_FAILURES_PER_ADDRESS_MAX: '2' });
  const statuses: number[] = [];
  for (const changes of [{ iss: 'https://other.example' }, { ref: 'x' }, {}])
    statuses.push((await present(limited, await signJob(realm, changes))).status);
  assert.deepEqual(statuses, [400, 400, 429]);
});

test('the address of an issuer whose keys are not uploaded is read under the rules of providers', async () => {
  const at = await makeWorkloadRealm(identity, {}, { keySet: null });
  // GitHub's real address isn't contacted. An address on loopback is refused, because it isn't public.
  await made(identity.patch(at.path, { jwksUri: 'https://127.0.0.1:1/keys' }));
  const { status, body, headers } = await present(identity, await signJob(at));
  assert.deepEqual([status, body], [503, { error: 'temporarily_unavailable' }]);
  assert.equal(headers.get('retry-after'), '5');
});

test('client credentials that are sent must be valid', async () => {
  const form = { client_id: 'iam_sa_x', client_secret: 'x' };
  const { status, body } = await present(identity, await signJob(realm), form);
  assert.deepEqual([status, body], [401, { error: 'invalid_client' }]);
  assert.equal((await present(identity, await signJob(realm), { client_id: 'public' })).status, 200);
});

test('the body has at most 16 KiB', async () => {
  assert.equal((await present(identity, 'x'.repeat(16_384))).status, 413);
});

test('no response or record repeats an assertion', async () => {
  for (const changes of [{}, { ref: 'x' }, { exp: 1 }]) {
    const token = await signJob(realm, changes);
    const text = JSON.stringify((await present(identity, token)).body);
    assert.ok(
      token
        .split('.')
        .slice(1)
        .every((part) => !text.includes(part)),
    );
  }
  const { count } = (await identity.pool.row(
    sql<{ count: number }>`select count(*)::integer from audit_records where reason like '%eyJ%'`,
  )) ?? { count: 1 };
  assert.equal(count, 0);
});
