import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { newSubject, startFederation } from '../../sign-in/federation/testing/sign-in.ts';
import { type Upstream, upstreamAudience } from '../../sign-in/federation/testing/upstream.ts';
import type { Answer, TestIdentity } from '../../testing/identity.ts';
import { made, makeAudience, makePrincipal, makeServiceAccount, makeToken } from '../../testing/objects.ts';
import { makeProvisioning } from '../../testing/provisioning.ts';
import { journalTypes } from '../../testing/records.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const anyone = (path: string, body: object) => identity.request('POST', path, { body });
const present = (verb: string, body: object) => anyone(`/api/v1/platform-access-tokens:${verb}`, body);

/** A key as the former control plane created it. */
function makeLegacyKey() {
  const keyPrefix = randomBytes(6).toString('hex');
  const key = `cp_${keyPrefix}_${randomBytes(24).toString('base64url')}`;
  return { key, keyPrefix, keyHash: createHash('sha256').update(key).digest('hex') };
}

/** A tenant with a credential of each kind, and each way to use or create one. */
async function makeWays(): Promise<{ tenantId: string; ways: Record<string, () => Promise<Answer>> }> {
  const audience = 'control-plane';
  const { tenantId, account, token: provisioningToken } = await makeProvisioning(identity);
  const path = `/tenants/${tenantId}`;
  await makeAudience(identity, tenantId);
  const principalId = await makePrincipal(identity, tenantId);
  const { token } = await makeToken(identity, tenantId, principalId);
  const spare = await makeToken(identity, tenantId, principalId);
  const rotated = await makeToken(identity, tenantId, principalId);
  const { clientId, clientSecret } = await makeServiceAccount(identity, tenantId);
  const provider = { key: 'corporate', issuer: upstream.issuer, audience: upstreamAudience };
  await made(identity.post(`${path}/identity-providers`, provider));
  const signInToken = await upstream.sign({ sub: newSubject() });
  const scim = { clientId: account.clientId, clientSecret: account.clientSecret, audience: 'iam-scim' };
  const { accessToken } = await made(anyone('/api/v1/tokens/exchange', { ...scim, scopes: ['scim:write'] }));
  const importKey = ({ keyPrefix, keyHash }: { keyPrefix: string; keyHash: string }) =>
    identity.post(`${path}/legacy-credentials:import`, {
      principalId,
      name: 'an old key',
      keyPrefix,
      keyHash,
      audience,
      expiresInSeconds: 3600,
    });
  const legacy = makeLegacyKey();
  await made(importKey(legacy));
  const key = () => ({ 'idempotency-key': randomUUID() });
  const form = {
    grant_type: 'client_credentials',
    audience,
    client_id: clientId,
    client_secret: clientSecret,
  };
  const users = (bearer: string) =>
    identity.request('GET', '/scim/v2/Users', { headers: { authorization: `Bearer ${bearer}` } });
  const ways = {
    'exchange of a token': () => present('exchange', { token, audience }),
    'exchange of an imported key': () => present('exchange', { token: legacy.key, audience }),
    introspection: () => present('introspect', { token }),
    'client credentials': () => anyone('/api/v1/tokens/exchange', { clientId, clientSecret, audience }),
    'the standard token endpoint': () =>
      identity.request('POST', '/oauth2/token', {
        body: new URLSearchParams(form).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    'a confirmed sign-in': () =>
      anyone(`/api/v1${path}/federation:authenticate`, { identityProvider: 'corporate', token: signInToken }),
    'a federated exchange': () =>
      anyone(`/api/v1${path}/federation:exchange`, {
        identityProvider: 'corporate',
        token: signInToken,
        audience,
      }),
    'SCIM by access token': () => users(accessToken),
    'SCIM by provisioning token': () => users(provisioningToken),
    issuing: () =>
      identity.post(
        `${path}/principals/${principalId}/platform-access-tokens`,
        { name: 'new', audiences: [audience] },
        key(),
      ),
    rotating: () =>
      identity.post(`${path}/platform-access-tokens/${rotated.credential.id}:rotate`, {}, key()),
    importing: () => importKey(makeLegacyKey()),
    'revocation by the bearer': () => present('revoke-self', { token: spare.token }),
  };
  return { tenantId, ways };
}

test('in a disabled tenant no credential can be used or made; enabling it restores all', async () => {
  const { tenantId, ways } = await makeWays();
  const other = await identity.another();
  const outcomes = async () => {
    const seen: Record<string, string> = {};
    for (const [name, go] of Object.entries(ways)) {
      const { status, body } = await go();
      seen[name] = `${status} ${status < 300 ? '' : (body.detail ?? body.error)}`.trim();
    }
    return seen;
  };
  // The tenant is disabled through another process, so nothing is cached between two uses.
  assert.equal((await ways['exchange of a token']?.())?.status, 200);
  await made(other.patch(`/tenants/${tenantId}`, { status: 'disabled' }));
  const unauthorized = (await ways['SCIM by provisioning token']?.())?.body.detail;
  assert.deepEqual(await outcomes(), {
    'exchange of a token': '401 invalid_token',
    'exchange of an imported key': '401 invalid_token',
    introspection: '401 invalid_token',
    'client credentials': '401 invalid_client',
    'the standard token endpoint': '401 invalid_client',
    'a confirmed sign-in': '404 identity_provider_not_found',
    'a federated exchange': '404 identity_provider_not_found',
    'SCIM by access token': `401 ${unauthorized}`,
    'SCIM by provisioning token': `401 ${unauthorized}`,
    issuing: '404 tenant_not_found',
    rotating: '404 tenant_not_found',
    importing: '404 tenant_not_found',
    'revocation by the bearer': '401 invalid_token',
  });
  assert.ok(!(await journalTypes(identity, tenantId)).includes('credential.revoked'));
  await made(other.patch(`/tenants/${tenantId}`, { status: 'active' }));
  assert.deepEqual(await outcomes(), {
    'exchange of a token': '200',
    'exchange of an imported key': '200',
    introspection: '200',
    'client credentials': '200',
    'the standard token endpoint': '200',
    'a confirmed sign-in': '200',
    'a federated exchange': '200',
    'SCIM by access token': '200',
    'SCIM by provisioning token': '200',
    issuing: '201',
    rotating: '201',
    importing: '201',
    'revocation by the bearer': '204',
  });
});
