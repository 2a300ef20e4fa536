import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { auditOf, storeCounts } from '../../testing/records.ts';
import { type OidcUpstream, startOidcUpstream } from '../federation/testing/oidc-upstream.ts';
import { makeRealm, type Realm, signInBy } from '../federation/testing/sign-in.ts';
import { makePair, upstreamAudience } from '../federation/testing/upstream.ts';

/** Tests of a provider, against a certified one: docs/reference/providers.md#test-a-provider. */

let identity: TestIdentity;
let upstream: OidcUpstream;
before(async () => {
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
  });
  upstream = await startOidcUpstream(makePair('first'));
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const redirectUri = 'https://baton.example/callback';
const pathOf = ({ tenantId, key }: Realm) => `/tenants/${tenantId}/identity-providers/${key}`;
const run = (at: Realm, request: object = {}) => made(identity.post(`${pathOf(at)}:test`, request));

type Steps = { step: string; status: string; code: string | null }[];
const brief = ({ steps }: { steps: Steps }) =>
  steps.map(({ step, status, code }) => [step, status, ...(code === null ? [] : [code])].join(' '));

const tokenOf = async (accountId: string, more: object = {}) =>
  (await upstream.signIn({ accountId, ...more })).id_token;

test('without a token: discovery, keys, and whether the provider accepts client and redirect address', async () => {
  const at = await makeRealm(identity, upstream);
  const test = await run(at, { redirectUri });
  const rest = ['token skipped', 'claims skipped'];
  assert.deepEqual(brief(test), ['discovery passed', 'keys passed', 'redirect passed', ...rest]);
  assert.match(test.steps[2].detail, /accepts client and redirect address/);
  assert.deepEqual(
    [test.issuer, test.audience, test.person, test.outcome],
    [upstream.issuer, upstreamAudience, null, null],
  );
  for (const request of [
    { redirectUri: 'https://elsewhere.example/callback' },
    { redirectUri, audience: 'unknown-client' },
  ])
    assert.equal(brief(await run(at, request))[2], 'redirect failed rejected');
  assert.equal(brief(await run(at))[2], 'redirect skipped');
});

test('another issuer is tested before it is set', async () => {
  const at = await makeRealm(identity, { issuer: 'https://old.example' });
  assert.equal(brief(await run(at, { issuer: upstream.issuer }))[0], 'discovery passed');
  assert.equal((await made(identity.get(pathOf(at)))).issuer, 'https://old.example');
  const { status, body } = await identity.post(`${pathOf(at)}:test`, { issuer: 'ftp://x.example' });
  assert.deepEqual([status, body.detail], [422, 'invalid_issuer']);
});

test('with a token: its claims, and the result of a sign-in, which changes nothing', async () => {
  const at = await makeRealm(identity, upstream, {
    unknownPeople: 'request',
    displayNameClaim: 'sub',
    admit: { role: 'member', groups: ['design'] },
  });
  const before = (await storeCounts(identity)) as Record<string, number>;
  const requested = await run(at, { token: await tokenOf('petra', { groups: ['others'] }) });
  assert.deepEqual(brief(requested).slice(3), ['token passed', 'claims failed claims_missing']);
  assert.deepEqual(requested.person, {
    subject: 'petra',
    displayName: 'petra',
    email: null,
    emailVerified: false,
    groups: ['others'],
  });
  assert.deepEqual(requested.outcome, { result: 'requested', code: null, role: null });
  const admitted = await run(at, { token: await tokenOf('petra', { groups: ['design'] }) });
  assert.deepEqual(admitted.outcome, { result: 'admitted', code: null, role: 'member' });
  const counted = await storeCounts(identity);
  assert.deepEqual(counted, { ...before, audits: (before['audits'] ?? 0) + 2 });
  const [record] = (await auditOf(identity, at.tenantId)).slice(-1);
  assert.equal(record?.action, 'identity_providers.test');
  assert.ok(!String(record?.reason).includes('petra'));

  const token = await tokenOf('petra', { groups: ['design'] });
  const { principalId } = await made(signInBy(identity, at, token));
  assert.equal((await run(at, { token })).outcome.result, 'signs_in');
  await made(identity.post(`/tenants/${at.tenantId}/principals/${principalId}:disable`));
  assert.deepEqual((await run(at, { token })).outcome, {
    result: 'refused',
    code: 'principal_disabled',
    role: null,
  });
  await made(identity.post(`${pathOf(at)}:disable`));
  assert.equal((await run(at, { token })).outcome.code, 'identity_provider_not_found');
});

test('a token that sign-ins refuse fails with the same code; a provider may create people', async () => {
  const at = await makeRealm(identity, upstream);
  const token = await tokenOf('maria');
  assert.equal((await run(at, { token })).outcome.result, 'created');
  for (const [request, code] of [
    [{ token, audience: 'another' }, 'invalid_audience'],
    [{ token: 'no token' }, 'invalid_token'],
    [{ token: token.replace(/\.[^.]+$/, '.AAAA') }, 'invalid_signature'],
  ] as const) {
    const test = await run(at, request);
    assert.deepEqual([brief(test)[3], test.person, test.outcome], [`token failed ${code}`, null, null]);
  }
});

test('each kind of failure of a provider has a code, under the rules of outgoing requests', async () => {
  let answer: [status: number, body: string] = [200, ''];
  const server = createServer((_req, res) => res.writeHead(answer[0]).end(answer[1]));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const document = { issuer, jwks_uri: `${issuer}/keys`, authorization_endpoint: `${issuer}/auth` };
  const at = await makeRealm(identity, { issuer });
  for (const [code, status, body] of [
    ['bad_status', 404, ''],
    ['not_json', 200, '<html>'],
    ['too_large', 200, ' '.repeat(300_000)],
    ['issuer_differs', 200, JSON.stringify({ ...document, issuer: 'https://other.example' })],
    ['incomplete', 200, JSON.stringify({ ...document, jwks_uri: undefined })],
    ['incomplete', 200, 'null'],
  ] as const) {
    answer = [status, body];
    const found = brief(await run(at, { redirectUri }));
    const expected = body === 'null' ? 'issuer_differs' : code;
    assert.deepEqual(found.slice(0, 3), [`discovery failed ${expected}`, 'keys skipped', 'redirect skipped']);
  }
  answer = [200, JSON.stringify({ ...document, keys: [] })];
  assert.equal(brief(await run(at))[1], 'keys failed no_keys');
  answer = [200, JSON.stringify({ ...document, jwks_uri: 'http://10.0.0.1/keys' })];
  assert.equal(brief(await run(at))[1], 'keys failed not_https');
  answer = [200, JSON.stringify({ ...document, authorization_endpoint: 'https://10.0.0.1/auth' })];
  assert.equal(brief(await run(at, { redirectUri }))[2], 'redirect failed not_public');
  server.closeAllConnections();
  await new Promise<void>((done) => server.close(() => done()));
  assert.equal(brief(await run(at))[0], 'discovery failed unreachable');
  assert.equal(brief(await run(at, { issuer: 'http://10.0.0.1' }))[0], 'discovery failed not_https');
});
