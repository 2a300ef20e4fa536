import assert from 'node:assert/strict';
import { hash, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
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
    await made(identity.patch(at.path, { principalKind: 'human', unknownPeople: 'request' }));
    assert.deepEqual((await identity.post(rulesOf(at), { ...fields, key: 'next' })).body, {
      detail: 'workload_provider_required',
    });
    const requiredClaims = { repository_owner_id: ['42'] };
    await made(identity.patch(at.path, { principalKind: 'workload', requiredClaims }));
    for (let count = 2; count <= 98; count += 1)
      await made(identity.post(rulesOf(at), { ...fields, key: `rule-${count}` }));
    const rivals = [1, 2, 3, 4, 5, 6].map((n) =>
      identity.post(rulesOf(at), { ...fields, key: `rival-${n}` }),
    );
    const statuses = (await Promise.all(rivals)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, 201, 409, 409, 409, 409]);
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
      { sub: { prefix: 'repo:acme/shop:ref:refs/heads/rel' } },
    ])
      assert.equal(await adviceOf(realm, claims), undefined, JSON.stringify(claims));
    for (const claims of [
      { ref: { equals: 'refs/heads/main' } },
      { repository: { equals: 'acme/shop' }, repository_owner: { equals: 'acme' } },
      { repository_id: { prefix: '1' } },
      { sub: { prefix: 'repo:acme' } },
      { sub: { prefix: 'repo:' } },
      // Also the beginning of repo:acme/shop-of-others.
      { sub: { prefix: 'repo:acme/shop' } },
      { '/repository_id': { equals: '1' } },
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

  test('is also GitLab.com, and the issuer of an enterprise at GitHub', async () => {
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
    for (const ownIssuer of [true, false]) {
      const { status, body } = await identity.patch(gitlab.path, { ownIssuer });
      assert.deepEqual(
        [status, body.detail?.[0]?.loc],
        ownIssuer ? [422, ['body', 'ownIssuer']] : [200, undefined],
      );
    }
  });

  for (const [issuer, fixing, wide] of [
    [
      'https://accounts.google.com',
      [{ sub: { equals: '1' } }, { hd: { oneOf: ['acme.example'] } }],
      [{ email: { equals: 'ci@acme.example' } }, { sub: { prefix: '1' } }, { azp: { equals: '1' } }],
    ],
    [
      'https://agent.buildkite.com',
      [
        { organization_id: { equals: '1' } },
        { sub: { prefix: 'organization:acme:' } },
        { sub: { prefix: 'organization:acme:pipeline:deploy:ref:refs/heads/re' } },
        { sub: { equals: 'organization:acme:pipeline:deploy:ref:refs/heads/main:commit:x:step:y' } },
      ],
      [
        { organization_slug: { equals: 'acme' } },
        { sub: { prefix: 'organization:acme' } },
        { sub: { prefix: 'organization:acme:pipeline:deploy' } },
        { build_branch: { equals: 'main' } },
      ],
    ],
    [
      'https://app.terraform.io',
      [{ terraform_workspace_id: { equals: 'ws-1' } }, { sub: { prefix: 'organization:acme:project:p:' } }],
      [{ terraform_organization_name: { equals: 'acme' } }, { terraform_run_phase: { equals: 'apply' } }],
    ],
    [
      'https://oidc.vercel.com',
      [{ owner_id: { equals: 'team_1' } }],
      [{ environment: { equals: 'production' } }],
    ],
    ['https://oidc.codefresh.io', [{ account_id: { equals: '1' } }], [{ pipeline_name: { equals: 'x' } }]],
    [
      'https://api.pulumi.com/oidc',
      [{ sub: { prefix: 'pulumi:deploy:org:acme:' } }],
      [{ org: { equals: 'acme' } }],
    ],
    ['https://scalr.io', [{ sub: { prefix: 'account:acme:' } }], [{ sub: { prefix: 'account:acme' } }]],
    ['https://appleid.apple.com', [{ sub: { equals: '1' } }], [{ email: { equals: 'a@b.example' } }]],
    [
      'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
      [{ oid: { equals: '1' } }],
      [{ tid: { equals: '1' } }],
    ],
    [
      'https://login.microsoftonline.com/11111111-2222-4333-8444-555555555555/v2.0',
      [{ azp: { equals: '1' } }],
      [{ tid: { equals: '11111111-2222-4333-8444-555555555555' } }],
    ],
    [
      'https://oidc.circleci.com/org/1b2c',
      [{ 'oidc.circleci.com/project-id': { equals: '1' } }, { sub: { prefix: 'org/1b2c/project/3d/' } }],
      [{ sub: { prefix: 'org/1b2c' } }, { 'oidc.circleci.com/vcs-ref': { equals: 'refs/heads/main' } }],
    ],
    [
      'https://api.bitbucket.org/2.0/workspaces/acme/pipelines-config/identity/oidc',
      [{ repositoryUuid: { equals: '{1}' } }, { sub: { prefix: '{11111111-2222-4333-8444-555555555555}:' } }],
      [{ branchName: { equals: 'main' } }],
    ],
    ['https://oidc.vercel.com/acme', [{ project_id: { equals: '1' } }], [{ owner: { equals: 'acme' } }]],
    ['https://oidc.fly.io/acme', [{ sub: { prefix: 'acme:app:' } }], [{ region: { equals: 'fra' } }]],
    [
      'https://unknown.example',
      [
        { sub: { equals: 'anything' } },
        { sub: { oneOf: ['a', 'b'] } },
        { project_id: { equals: '1' } },
        { sub: { prefix: 'spiffe://acme.example/agents/' } },
        { sub: { prefix: 'system:serviceaccount:agents:' } },
        { '/kubernetes.io/serviceaccount/uid': { equals: '1' } },
      ],
      [
        { ref: { equals: 'main' } },
        { sub: { prefix: 'a' } },
        { sub: { prefix: 'spiffe://acme.example' } },
        { sub: { prefix: 'spiffe://acme.example/agents' } },
        { sub: { prefix: 'system:serviceaccount:agents' } },
        { aud: { equals: 'https://baton.example' } },
      ],
    ],
  ] as const)
    test(`a rule of ${issuer} fixes an owner`, async () => {
      const [first] = fixing;
      const at = await makeWorkloadRealm(identity, { claims: first }, { issuer, keySet: null });
      for (const claims of fixing)
        assert.equal(await adviceOf(at, claims), undefined, JSON.stringify(claims));
      for (const claims of wide)
        assert.match((await adviceOf(at, claims)) ?? '', /^422 body,claims must fix/, JSON.stringify(claims));
    });

  test('an issuer whose keys are uploaded, or that is declared as the own one, needs any condition', async () => {
    const claims = { ref: { equals: 'main' } };
    const issuer = 'https://gitlab.acme.example';
    const uploaded = await makeWorkloadRealm(identity, { claims }, { issuer });
    const own = await makeWorkloadRealm(identity, { claims }, { issuer, keySet: null, ownIssuer: true });
    for (const [at, change] of [
      [uploaded, { keySet: null }],
      [own, { ownIssuer: false }],
    ] as const) {
      const { status, body } = await identity.patch(at.path, change);
      assert.deepEqual([status, body], [409, { detail: 'workload_rules_too_wide' }]);
      await made(identity.patch(ruleOf(at), { claims: { ...claims, project_id: { equals: '1' } } }));
      await made(identity.patch(at.path, change));
      assert.match((await adviceOf(at, claims)) ?? '', /^422 body,claims must fix the subject/);
    }
  });

  test('a rule from before this check keeps its meaning, and everything else about it can change', async () => {
    const claims = { ref: { equals: 'refs/heads/main' } };
    const at = await makeWorkloadRealm(identity);
    await identity.pool.run(
      sql`update workload_rules set claims = ${JSON.stringify(claims)}::jsonb where id = ${at.rule.id}`,
    );
    await made(identity.patch(ruleOf(at), { lifetimeSecondsMax: 600, claims }));
    await made(identity.patch(at.path, { audience: 'https://other.example' }));
    await made(identity.patch(at.path, { audience: `https://baton.example/${at.tenantId}` }));
    assert.equal((await present(identity, await signJob(at))).status, 200);
    assert.match((await adviceOf(at, { ref: { equals: 'x' } })) ?? '', /^422 body,claims must fix/);
  });

  test('nobody becomes a principal by its tokens unless required claims fix an owner', async () => {
    const path = `/tenants/${realm.tenantId}/identity-providers`;
    const register = (changes: object) =>
      identity.post(path, {
        key: `p-${randomUUID()}`,
        issuer: 'https://gitlab.com',
        audience: 'x',
        ...changes,
      });
    const requiredClaims = { namespace_id: ['72'] };
    for (const changes of [{ principalKind: 'workload' }, {}, { requiredClaims: { ref: ['main'] } }]) {
      const { status, body } = await register(changes);
      assert.deepEqual(
        [status, body.detail[0]?.loc],
        [422, ['body', 'requiredClaims']],
        JSON.stringify(changes),
      );
    }
    const { key } = await made(register({ principalKind: 'workload', requiredClaims }));
    assert.equal((await identity.patch(`${path}/${key}`, { requiredClaims: {} })).status, 422);
    await made(identity.patch(`${path}/${key}`, { principalKind: 'none', requiredClaims: {} }));
    assert.equal((await identity.patch(`${path}/${key}`, { principalKind: 'workload' })).status, 422);
    await made(identity.patch(`${path}/${key}`, { principalKind: 'human', unknownPeople: 'request' }));
    assert.equal((await identity.patch(`${path}/${key}`, { unknownPeople: 'create' })).status, 422);
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
