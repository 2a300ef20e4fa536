import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makeWorkloadRealm, signJob } from '../../sign-in/workload-rules/testing/workloads.ts';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeBearer, makeServiceAccount } from '../../testing/objects.ts';
import { assertionGrant, providerGrants } from './oauth-token.ts';
import { withoutIssuerPath } from './server-metadata.ts';
import { accessTokenType, basicOf, exchangeGrant, sendForm } from './testing/forms.ts';

const path = '/.well-known/oauth-authorization-server';
const issuer = 'https://baton.example/at/iam';
let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), IAM_ISSUER: issuer });
});
after(() => identity.close());

test('the metadata are at the addresses of RFC 8414, with the path of the issuer at the end and without', async () => {
  const bodies: unknown[] = [];
  for (const place of [path, `${path}/at/iam`, `/at/iam${path}`, `${path}?x=1`]) {
    const { status, body, headers } = await identity.request('GET', place);
    assert.deepEqual([status, body.issuer], [200, issuer], place);
    assert.equal(headers.get('cache-control'), 'public, max-age=60');
    bodies.push(body);
  }
  for (const body of bodies) assert.deepEqual(body, bodies[0]);
  assert.equal((await identity.request('GET', `${path}/iam`)).status, 404);
});

test('every endpoint that they name answers, and clients of people use codes with PKCE only', async () => {
  const { body } = await identity.request('GET', path);
  assert.deepEqual(body.response_types_supported, ['code']);
  assert.deepEqual(body.code_challenge_methods_supported, ['S256']);
  assert.equal(body.authorization_response_iss_parameter_supported, true);
  assert.equal(body.client_id_metadata_document_supported, true);
  assert.equal(body.registration_endpoint, undefined);
  const reach = (address: string, method: string) =>
    identity.request(method, new URL(address).pathname, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  for (const [name, address] of Object.entries(body as Record<string, unknown>)) {
    if (!/(_endpoint|_uri|_documentation)$/.test(name)) continue;
    const isForm = /token|introspection|revocation|device/.test(name);
    const { status } = await reach(String(address), isForm ? 'POST' : 'GET');
    const expected = isForm || name === 'authorization_endpoint' ? [400, 401] : [200];
    assert.ok(expected.includes(status), `${name} ${status}`);
  }
});

test('every grant and every way to authenticate that they name works', async () => {
  const { body } = await identity.request('GET', path);
  const { tenantId, token } = await makeBearer(identity);
  const client = await makeServiceAccount(identity, tenantId);
  const realm = await makeWorkloadRealm(identity);
  const inForm = { client_id: client.clientId, client_secret: client.clientSecret };
  const grants: Record<string, Record<string, string>> = {
    client_credentials: {},
    [exchangeGrant]: { subject_token: token, subject_token_type: accessTokenType },
    [assertionGrant]: { assertion: await signJob(realm) },
  };
  // The grants of people have tests of their own, in sign-in/oauth.
  assert.deepEqual(body.grant_types_supported.sort(), [...Object.keys(grants), ...providerGrants].sort());
  const methods: Record<string, [Record<string, string>, Record<string, string>]> = {
    client_secret_basic: [{}, basicOf(client)],
    client_secret_post: [inForm, {}],
    none: [{}, {}],
  };
  assert.deepEqual(body.token_endpoint_auth_methods_supported.sort(), Object.keys(methods).sort());
  for (const [grant, fields] of Object.entries(grants))
    for (const [method, [form, headers]] of Object.entries(methods)) {
      const sent = { grant_type: grant, audience: 'control-plane', ...fields, ...form };
      const { status } = await sendForm(identity, 'token', sent, headers);
      assert.equal(
        status,
        grant === 'client_credentials' && method === 'none' ? 401 : 200,
        `${grant} ${method}`,
      );
    }
  for (const method of body.introspection_endpoint_auth_methods_supported) {
    const [form, headers] = methods[method] as [Record<string, string>, Record<string, string>];
    assert.equal((await sendForm(identity, 'introspect', { token, ...form }, headers)).body.active, true);
  }
  for (const method of body.revocation_endpoint_auth_methods_supported) {
    const [form, headers] = methods[method] as [Record<string, string>, Record<string, string>];
    assert.equal((await sendForm(identity, 'revoke', { token: 'x', ...form }, headers)).status, 200);
  }
});

test('the path of the issuer is cut off before our own paths, and nowhere else', () => {
  for (const [url, expected] of [
    ['/iam/api/v1/tenants?x=/iam/api', '/api/v1/tenants?x=/iam/api'],
    ['/iam/.well-known/jwks.json', '/.well-known/jwks.json'],
    ['/iam/docs', '/docs'],
    ['/iam/docsx', '/iam/docsx'],
    ['/iam', '/iam'],
    ['/iamx/docs', '/iamx/docs'],
    ['/iam/iam/docs', '/iam/iam/docs'],
    ['/api/v1/x', '/api/v1/x'],
    [`${path}/iam?x`, `${path}?x`],
  ] as const)
    assert.equal(withoutIssuerPath(url, 'https://x.example/iam'), expected, url);
  assert.equal(withoutIssuerPath('/api/v1/x', 'https://x.example/api'), '/api/v1/x');
  assert.equal(withoutIssuerPath('/docs', 'https://x.example'), '/docs');
});
