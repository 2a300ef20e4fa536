import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { basicOf, sendForm } from '../../issuing/oauth2/testing/forms.ts';
import type { TestIdentity } from '../../testing/identity.ts';
import { adminScope, made, makePrincipal, makeServiceAccount, readScope } from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';
import {
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

const rulesOf = ({ path }: WorkloadRealm) => `${path}/workload-rules`;
const ruleOf = (at: WorkloadRealm, key = 'release') => `${rulesOf(at)}/${key}`;
const remove = (at: WorkloadRealm, key?: string) =>
  identity.request('DELETE', `/api/v1${ruleOf(at, key)}`, {
    headers: { 'x-iam-bootstrap-token': 'admin-secret-of-the-tests' },
  });
/** The fields of a rule that no request may set. */
const readOnly = ['id', 'identityProvider', 'createdAt', 'lastUsedAt', 'status'];
const choicesOf = (rule: object) =>
  Object.fromEntries(Object.entries(rule).filter(([name]) => !readOnly.includes(name)));
const lastRecords = async (at: WorkloadRealm) => {
  const [event, audited] = [
    (await journalOf(identity, at.tenantId)).at(-1),
    (await auditOf(identity, at.tenantId)).at(-1),
  ];
  return [event.type, event.aggregate_id, audited?.action, audited?.reason];
};

describe('a rule', () => {
  test('is created with its defaults, read, listed by key, and recorded', async () => {
    const at = await makeWorkloadRealm(identity, { key: 'zeta' });
    const { id, createdAt: _, ...rest } = at.rule;
    assert.deepEqual(rest, {
      key: 'zeta',
      identityProvider: at.key,
      principalId: at.principalId,
      claims: { ref: { equals: 'refs/heads/main' }, repository_id: { equals: at.repositoryId } },
      audiences: ['control-plane'],
      scopeCeiling: [readScope, 'control-plane:write'],
      singleUse: false,
      lifetimeSecondsMax: 86_400,
      status: 'active',
      lastUsedAt: null,
    });
    assert.deepEqual(await lastRecords(at), [
      'workload_rule.created',
      id,
      'workload_rules.create',
      `provider:${at.key} rule:zeta`,
    ]);
    const event = (await journalOf(identity, at.tenantId)).at(-1);
    const { providerId: identityProviderId, principalId } = at;
    assert.deepEqual(event.payload, { workloadRuleId: id, identityProviderId, key: 'zeta', principalId });
    const second = { ...at.rule, key: 'alpha', audiences: ['control-plane', 'control-plane'] };
    for (const name of readOnly) delete second[name];
    const made_ = await made(identity.post(rulesOf(at), second));
    assert.deepEqual(await made(identity.get(ruleOf(at, 'alpha'))), made_);
    assert.deepEqual(await made(identity.get(rulesOf(at))), [made_, at.rule]);
    assert.equal((await identity.post(rulesOf(at), second)).body.detail, 'workload_rule_exists');
  });

  test('is changed from the next exchange on; equal values change nothing', async () => {
    const at = await makeWorkloadRealm(identity);
    const before = await storeCounts(identity);
    assert.deepEqual(
      await made(identity.patch(ruleOf(at), { singleUse: false, audiences: ['control-plane'] })),
      at.rule,
    );
    assert.deepEqual(await storeCounts(identity), before);
    const principalId = await makePrincipal(identity, at.tenantId, 'workload');
    const change = {
      principalId,
      claims: { repository_id: { equals: '7' } },
      scopeCeiling: [readScope],
      lifetimeSecondsMax: 600,
    };
    assert.deepEqual(await made(identity.patch(ruleOf(at), change)), { ...at.rule, ...change });
    assert.deepEqual(await lastRecords(at), [
      'workload_rule.updated',
      at.rule.id,
      'workload_rules.update',
      `provider:${at.key} rule:release changed:claims,lifetime_seconds_max,principal_id,scope_ceiling`,
    ]);
    assert.equal((await present(identity, await signJob(at))).status, 400);
    const { body } = await present(identity, await signJob(at, { repository_id: '7' }));
    assert.equal(decodeJwt(body.access_token).sub, principalId);
  });

  test('is disabled, enabled and deleted; a repetition changes nothing', async () => {
    const at = await makeWorkloadRealm(identity);
    for (const [act, status] of [
      ['disable', 'disabled'],
      ['enable', 'active'],
    ] as const) {
      assert.deepEqual(await made(identity.post(`${ruleOf(at)}:${act}`)), { ...at.rule, status });
      assert.deepEqual(await lastRecords(at), [
        `workload_rule.${act}d`,
        at.rule.id,
        `workload_rules.${act}`,
        `provider:${at.key} rule:release`,
      ]);
      const events = (await journalOf(identity, at.tenantId)).length;
      await made(identity.post(`${ruleOf(at)}:${act}`));
      assert.equal((await journalOf(identity, at.tenantId)).length, events);
    }
    assert.equal((await remove(at)).status, 204);
    assert.deepEqual(await lastRecords(at), [
      'workload_rule.deleted',
      at.rule.id,
      'workload_rules.delete',
      `provider:${at.key} rule:release`,
    ]);
    assert.deepEqual(
      [(await remove(at)).body, (await identity.get(ruleOf(at))).status],
      [{ detail: 'workload_rule_not_found' }, 404],
    );
  });

  test('names an agent, workload or service account of the tenant, active audiences, and scopes that they allow', async () => {
    const [human, other] = [
      await makePrincipal(identity, realm.tenantId, 'human'),
      await makeWorkloadRealm(identity),
    ];
    for (const [change, status, code] of [
      [{ principalId: human }, 422, 'workload_principal_required'],
      [{ principalId: other.principalId }, 404, 'principal_not_found'],
      [{ audiences: ['unknown'] }, 422, 'unknown_audience'],
      [{ scopeCeiling: ['unknown'] }, 422, 'invalid_scope_ceiling'],
    ] as const) {
      const fields = choicesOf(realm.rule);
      for (const answer of [
        await identity.post(rulesOf(realm), { ...fields, key: 'another', ...change }),
        await identity.patch(ruleOf(realm), change),
      ])
        assert.deepEqual([answer.status, answer.body], [status, { detail: code }]);
    }
    await made(identity.patch(ruleOf(realm), { scopeCeiling: [adminScope] }));
    await made(identity.patch(ruleOf(realm), { scopeCeiling: [readScope] }));
  });

  test('is refused at a provider of people, and 101 rules are too many', async () => {
    const at = await makeWorkloadRealm(identity);
    const fields = choicesOf(at.rule);
    await made(identity.patch(at.path, { principalKind: 'human' }));
    assert.deepEqual((await identity.post(rulesOf(at), { ...fields, key: 'next' })).body, {
      detail: 'workload_provider_required',
    });
    await made(identity.patch(at.path, { principalKind: 'workload' }));
    for (let count = 2; count <= 100; count += 1)
      await made(identity.post(rulesOf(at), { ...fields, key: `rule-${count}` }));
    const full = await identity.post(rulesOf(at), { ...fields, key: 'one-more' });
    assert.deepEqual([full.status, full.body], [409, { detail: 'too_many_workload_rules' }]);
    assert.equal((await made(identity.get(rulesOf(at)))).length, 100);
  });

  test('has bounded claims, each with one condition', async () => {
    const fits = async (claims: unknown) => (await identity.patch(ruleOf(realm), { claims })).status === 200;
    const pin = { repository_id: { equals: '1' } };
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, { equals: 'x' }]));
    for (const claims of [
      { ...pin, ...many(19) },
      { ...pin, ['n'.repeat(200)]: { prefix: 'x'.repeat(500) } },
      { ...pin, ref: { oneOf: Array.from({ length: 100 }, (_, at) => String(at)) } },
    ])
      assert.ok(await fits(claims), JSON.stringify(claims).slice(0, 80));
    for (const claims of [
      {},
      { ...pin, ...many(20) },
      { ...pin, ['n'.repeat(201)]: { equals: 'x' } },
      { ...pin, ref: { prefix: 'x'.repeat(501) } },
      { ...pin, ref: { prefix: '' } },
      { ...pin, ref: { oneOf: [] } },
      { ...pin, ref: { oneOf: Array.from({ length: 101 }, (_, at) => String(at)) } },
      { ...pin, ref: { equals: 'x', prefix: 'x' } },
      { ...pin, ref: {} },
      { ...pin, ref: 'x' },
      [],
    ])
      assert.ok(!(await fits(claims)), JSON.stringify(claims).slice(0, 80));
    await made(identity.patch(ruleOf(realm), { claims: realm.rule.claims }));
  });
});

describe('an issuer that strangers share', () => {
  const adviceOf = async (at: WorkloadRealm, claims: object) => {
    const { status, body } = await identity.patch(ruleOf(at), { claims });
    return status === 200 ? undefined : `${status} ${body.detail[0].loc} ${body.detail[0].msg}`;
  };

  test('needs a condition that fixes an owner: for GitHub repository_id, repository_owner_id or sub', async () => {
    for (const claims of [
      { repository_id: { equals: '1' } },
      { repository_owner_id: { oneOf: ['1', '2'] } },
      { sub: { equals: 'repo:acme/shop:ref:refs/heads/main' } },
      { sub: { prefix: 'repo:acme/' } },
    ])
      assert.equal(await adviceOf(realm, claims), undefined, JSON.stringify(claims));
    for (const claims of [
      { ref: { equals: 'refs/heads/main' } },
      { repository: { equals: 'acme/shop' }, repository_owner: { equals: 'acme' } },
      { repository_id: { prefix: '1' } },
      { sub: { prefix: 'repo:acme' } },
      { sub: { prefix: 'repo:' } },
      { sub: { oneOf: ['repo:acme/shop:x', 'repo:'] } },
    ]) {
      const advice = await adviceOf(realm, claims);
      assert.match(
        advice ?? '',
        /^422 body,claims must fix the repository .* Add `repository_id` or/,
        JSON.stringify(claims),
      );
    }
    const wide = { ...realm.rule, key: 'wide', claims: { ref: { equals: 'x' } } };
    for (const name of readOnly) delete wide[name];
    assert.equal((await identity.post(rulesOf(realm), wide)).status, 422);
    await made(identity.patch(ruleOf(realm), { claims: realm.rule.claims }));
  });

  test('is also GitLab.com, and the issuer of an enterprise at GitHub; an own issuer needs any condition', async () => {
    const claims = { project_id: { equals: '1' } };
    const gitlab = await makeWorkloadRealm(identity, { claims }, { issuer: 'https://gitlab.com' });
    assert.match((await adviceOf(gitlab, { ref: { equals: 'main' } })) ?? '', /must fix the project/);
    assert.equal(await adviceOf(gitlab, { sub: { prefix: 'project_path:acme/shop:' } }), undefined);
    const enterprise = await makeWorkloadRealm(
      identity,
      {},
      { issuer: 'https://token.actions.githubusercontent.com/acme' },
    );
    assert.match((await adviceOf(enterprise, { ref: { equals: 'main' } })) ?? '', /must fix the repository/);
    const own = await makeWorkloadRealm(identity, {}, { issuer: 'https://gitlab.acme.example' });
    assert.equal(await adviceOf(own, { ref: { equals: 'main' } }), undefined);
  });
});

test('access tokens end with their rule, provider or principal, and those of other rules remain', async () => {
  const at = await makeWorkloadRealm(identity);
  const client = await makeServiceAccount(identity, at.tenantId);
  const exchange = async () => (await made(present(identity, await signJob(at)))).access_token as string;
  const isActive = async (token: string) =>
    (await sendForm(identity, 'introspect', { token }, basicOf(client))).body.active as boolean;
  const isListed = async (id: string) => {
    const { revoked } = await made(identity.request('GET', '/.well-known/revocations.json'));
    return revoked.some(({ sha256 }: { sha256: string }) => sha256 === hash('sha256', id, 'base64url'));
  };
  const other = await makeWorkloadRealm(identity);
  const otherToken = (await made(present(identity, await signJob(other)))).access_token;
  const otherClient = await makeServiceAccount(identity, other.tenantId);
  const token = await exchange();
  for (const [path, id] of [
    [ruleOf(at), at.rule.id],
    [at.path, `${at.tenantId} idp:${at.key}`],
  ] as const) {
    assert.ok(await isActive(token));
    await made(identity.post(`${path}:disable`));
    assert.deepEqual([await isListed(id), await isActive(token)], [true, false], path);
    assert.equal((await present(identity, await signJob(at))).status, 400);
    await made(identity.post(`${path}:enable`));
    assert.deepEqual([await isListed(id), await isActive(token)], [false, true], path);
  }
  await identity.post(`/tenants/${at.tenantId}/principals/${at.principalId}:disable`);
  assert.equal(await isActive(token), false);
  assert.equal((await remove(at)).status, 204);
  assert.ok(await isListed(at.rule.id));
  assert.equal(
    (await sendForm(identity, 'introspect', { token: otherToken }, basicOf(otherClient))).body.active,
    true,
  );
});
