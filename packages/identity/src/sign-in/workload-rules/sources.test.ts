import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import type { TestIdentity } from '../../testing/identity.ts';
import { jwkOf, makePair, nowSeconds, startUpstream } from '../federation/testing/upstream.ts';
import { makeWorkloadRealm, present, signJob, startWorkloads } from './testing/workloads.ts';

/** Tokens in the form of other platforms; those of GitHub Actions are in the other tests. */

let identity: TestIdentity;
before(async () => {
  identity = await startWorkloads({ IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]' });
});
after(() => identity.close());

/** The claims of a job on GitHub, which other platforms' tokens lack. */
const notOfGithub = Object.fromEntries(
  [
    'repository',
    'repository_id',
    'repository_owner',
    'repository_owner_id',
    'ref',
    'ref_protected',
    'event_name',
  ].map((name) => [name, undefined]),
);

test('a job of GitLab CI', async () => {
  const issuer = 'https://gitlab.com';
  const claims = { project_id: { equals: '22' }, ref: { equals: 'main' }, ref_type: { equals: 'branch' } };
  const realm = await makeWorkloadRealm(identity, { claims }, { issuer });
  const job = {
    ...notOfGithub,
    iss: issuer,
    sub: 'project_path:acme/shop:ref_type:branch:ref:main',
    namespace_id: '72',
    project_id: '22',
    project_path: 'acme/shop',
    pipeline_source: 'push',
    job_id: '302',
    ref: 'main',
    ref_type: 'branch',
    ref_protected: 'true',
    user_login: 'maria',
  };
  assert.equal((await present(identity, await signJob(realm, job))).status, 200);
  for (const wrong of [{ project_id: '23' }, { ref: 'feature' }, { ref_type: 'tag' }])
    assert.equal((await present(identity, await signJob(realm, { ...job, ...wrong }))).status, 400);
});

test('a service account of a private Kubernetes cluster, by its uploaded keys and the uid in a nested claim', async () => {
  const issuer = 'https://kubernetes.default.svc.cluster.local';
  const uid = randomUUID();
  const claims = {
    sub: { equals: 'system:serviceaccount:agents:release' },
    '/kubernetes.io/serviceaccount/uid': { equals: uid },
  };
  const clusterKey = makePair('cluster', 'RS256');
  const keySet = { keys: [jwkOf(clusterKey, { alg: 'RS256' })] };
  const realm = await makeWorkloadRealm(identity, { claims }, { issuer, keySet });
  const audience = `https://baton.example/${realm.tenantId}`;
  const pod = (own = uid) => ({
    ...notOfGithub,
    iss: issuer,
    aud: [audience],
    sub: 'system:serviceaccount:agents:release',
    'kubernetes.io': {
      namespace: 'agents',
      pod: { name: 'release-7c9', uid: randomUUID() },
      serviceaccount: { name: 'release', uid: own },
    },
    exp: nowSeconds() + 3600,
  });
  // Clusters sign tokens without a `typ`.
  const sign = (claimed: object) => signJob(realm, claimed, { typ: undefined }, clusterKey);
  const { body } = await present(identity, await sign(pod()));
  assert.equal(decodeJwt(body.access_token).sub, realm.principalId);
  assert.equal((await present(identity, await sign(pod(randomUUID())))).status, 400, 'a recreated account');
  const other = { ...pod(), sub: 'system:serviceaccount:default:default' };
  assert.equal((await present(identity, await sign(other))).status, 400);
});

test('a SPIFFE JWT-SVID, whose keys are found by discovery', async () => {
  const upstream = await startUpstream();
  after(() => upstream.close());
  const claims = { sub: { equals: 'spiffe://acme.example/agents/release' } };
  const provider = { issuer: upstream.issuer, keySet: null };
  const realm = await makeWorkloadRealm(identity, { claims }, provider);
  const svid = (sub: string) => ({
    ...notOfGithub,
    iss: upstream.issuer,
    aud: [`https://baton.example/${realm.tenantId}`],
    sub,
    nbf: undefined,
    jti: undefined,
  });
  const sign = (sub: string) => signJob(realm, svid(sub), {}, upstream.key);
  assert.equal((await present(identity, await sign('spiffe://acme.example/agents/release'))).status, 200);
  assert.equal((await present(identity, await sign('spiffe://acme.example/agents/other'))).status, 400);
  assert.deepEqual(upstream.requests, ['/.well-known/openid-configuration', '/keys']);
  upstream.publish([jwkOf(upstream.key, { use: 'jwt-svid' })]);
  assert.equal((await present(identity, await sign('spiffe://acme.example/agents/release'))).status, 200);
});
