import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { jwkOf, makePair } from '../federation/testing/upstream.ts';
import {
  githubKey,
  makeWorkloadRealm,
  present,
  signJob,
  startWorkloads,
  type WorkloadRealm,
} from '../workload-rules/testing/workloads.ts';

let identity: TestIdentity;
let realm: WorkloadRealm;
before(async () => {
  identity = await startWorkloads();
  realm = await makeWorkloadRealm(identity);
});
after(() => identity.close());

const upload = (keySet: unknown) => identity.patch(realm.path, { keySet });
const usable = jwkOf(githubKey);

test('uploaded keys verify tokens, without a request; replacing them replaces the keys at once', async () => {
  assert.deepEqual((await made(identity.get(realm.path))).key_set, { keys: [usable] });
  const next = makePair('github-2', 'ES256');
  const nextToken = () => signJob(realm, {}, {}, next);
  assert.deepEqual(
    [
      (await present(identity, await signJob(realm))).status,
      (await present(identity, await nextToken())).status,
    ],
    [200, 400],
  );
  await made(upload({ keys: [jwkOf(next)] }));
  assert.deepEqual(
    [
      (await present(identity, await signJob(realm))).status,
      (await present(identity, await nextToken())).status,
    ],
    [400, 200],
  );
  await made(upload({ keys: [usable] }));
});

test('a SPIFFE bundle is accepted; only what verifies signatures is stored', async () => {
  const certificateKey = { ...usable, use: 'x509-svid', kid: 'ca', x5c: ['MIIB'] };
  const bundle = {
    spiffe_sequence: 4,
    spiffe_refresh_hint: 300,
    keys: [{ ...usable, use: 'jwt-svid', x5t: 'x', ext: true }, certificateKey],
  };
  const { key_set } = await made(upload(bundle));
  const { x5c: _, ...withoutCertificate } = certificateKey;
  assert.deepEqual(key_set, { keys: [{ ...usable, use: 'jwt-svid' }, withoutCertificate] });
  assert.equal((await present(identity, await signJob(realm))).status, 200);
  await made(upload({ keys: [usable] }));
});

test('a document with a private or symmetric key, without a usable key, or too large is refused and not stored', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey;
  for (const keySet of [
    { keys: [usable, { ...privateKey.export({ format: 'jwk' }), kid: 'private' }] },
    { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] },
    { keys: [{ ...usable, k: 'c2VjcmV0' }] },
    { keys: [weak.export({ format: 'jwk' })] },
    { keys: [{ ...usable, use: 'enc' }] },
    { keys: [] },
    {},
    [usable],
    'x',
    { keys: Array.from({ length: 101 }, (_, at) => ({ ...usable, kid: String(at) })) },
    { keys: [{ ...usable, kid: 'x'.repeat(201) }] },
    { keys: [{ ...usable, n: 'x'.repeat(2801) }] },
    { keys: [{ ...usable, x5c: ['x'.repeat(16_385)] }] },
  ]) {
    const { status, body } = await upload(keySet);
    assert.equal(status, 422, JSON.stringify(keySet).slice(0, 80));
    assert.ok(!JSON.stringify(body).includes('c2VjcmV0'));
  }
  assert.deepEqual((await made(identity.get(realm.path))).key_set, { keys: [usable] });
  const most = { keys: Array.from({ length: 100 }, (_, at) => ({ ...usable, kid: `key ${at}` })) };
  assert.equal((await made(upload(most))).key_set.keys.length, 100);
  await made(upload({ keys: [usable] }));
});

test('nobody signs in through a provider for rules only', async () => {
  const path = `/api/v1/tenants/${realm.tenantId}/federation`;
  const body = { identityProvider: realm.key, token: await signJob(realm) };
  for (const [route, more] of [
    ['authenticate', {}],
    ['exchange', { audience: 'control-plane' }],
  ] as const) {
    const answer = await identity.request('POST', `${path}:${route}`, { body: { ...body, ...more } });
    assert.deepEqual([answer.status, answer.body], [404, { detail: 'identity_provider_not_found' }]);
  }
});
