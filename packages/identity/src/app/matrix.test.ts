import { randomUUID } from 'node:crypto';
import { matrixTests } from '@baton/kernel/testing/matrix';
import type { MatrixRules, MatrixService, Prepared } from '@baton/kernel/testing/matrix-bench';
import { digestStore } from '@baton/kernel/testing/store-digest';
import { endpointName, type Operation } from '@baton/kernel/service';
import pg from 'pg';
import { endpoints } from './endpoints.ts';
import { startUpstream, type Upstream, upstreamAudience } from '../sign-in/federation/testing/upstream.ts';
import { bodyBytesMax } from './runtime.ts';
import { adminHeader, startIdentity, type TestIdentity, testSigningKey } from '../testing/identity.ts';
import {
  made,
  makeAudience,
  makeBearer,
  makePrincipal,
  makeServiceAccount,
  makeTenant,
  makeToken,
  signIn,
} from '../testing/objects.ts';
import { makeProvider, makeProvisioning } from '../testing/provisioning.ts';
import { prepareScim, scimCodeOf, scimRules } from '../testing/scim-matrix.ts';

const adminRules: MatrixRules = {
  unauthenticated: { status: 401, code: 'unauthorized' },
  invalid: { status: 422, code: 'a list' },
  unstorable: { status: 422, code: 'a list' },
  tooLarge: { status: 413, code: 'request_too_large' },
  wrongMethod: { status: 405, code: 'method_not_allowed' },
  keyRequired: { status: 400, code: 'idempotency_key_required' },
  keyTooLong: { status: 422, code: 'a list' },
};

/** All that is wrong with a form has one code in RFC 6749. */
const oauthRules: MatrixRules = {
  ...adminRules,
  invalid: { status: 400, code: 'invalid_request' },
  unstorable: { status: 400, code: 'invalid_request' },
  tooLarge: { status: 413, code: 'invalid_request' },
  wrongMethod: { status: 405, code: 'invalid_request' },
};

/** Every endpoint of identity against the general rules of its contract (sections 1 and 2). */
matrixTests({
  service: 'identity',
  basePath: '/api/v1',
  endpoints,
  rulesOf: ({ auth, path }) =>
    auth === 'provisioning' ? scimRules : path.startsWith('/oauth2/') ? oauthRules : adminRules,
  codeOf(body) {
    const scimCode = scimCodeOf(body);
    if (scimCode !== undefined) return scimCode;
    const { detail, error } = (body ?? {}) as { detail?: unknown; error?: unknown };
    if (typeof error === 'string') return error;
    if (Array.isArray(detail)) return detail.every(isProblem) ? 'a list' : undefined;
    return typeof detail === 'string' ? detail : undefined;
  },
  keyRequired: ({ errors }) => errors.includes('idempotency_key_required'),
  bodyBytesMax: () => bodyBytesMax,
  sizeBeforeCredential: ({ auth }) => auth !== undefined,
  ignoresUnknownFields: ({ auth, path }) => auth === 'provisioning' || path.startsWith('/oauth2/'),
  start,
});

/** `{type, loc[], msg}` and nothing that was sent. */
function isProblem(problem: unknown): boolean {
  const { type, loc, msg, ...rest } = problem as Record<string, unknown>;
  return (
    typeof type === 'string' &&
    Array.isArray(loc) &&
    typeof msg === 'string' &&
    Object.keys(rest).length === 0
  );
}

async function start(): Promise<MatrixService> {
  const identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
  });
  const upstream = await startUpstream();
  const store = new pg.Pool({ connectionString: identity.databaseUrl });
  const other = await makeTenant(identity);
  await makeAudience(identity, other, 'theirs');
  const foreign: Record<string, string> = {
    tenantId: other,
    principalId: await makePrincipal(identity, other),
    key: 'theirs',
    groupId: (await made(identity.post(`/tenants/${other}/groups`, { key: 'theirs', name: 'Theirs' }))).id,
  };
  const theirs = { audiences: ['theirs'] };
  foreign['clientId'] = (await makeServiceAccount(identity, other, theirs)).clientId;
  const provisioning = await makeProvisioning(identity);
  const own = await makeProvisioning(identity);
  foreign['sourceId'] = provisioning.sourceId;
  foreign['tokenId'] = provisioning.tokenId;
  foreign['credentialId'] = (
    await makeToken(identity, other, foreign['principalId'] ?? '', theirs)
  ).credential.id;
  return {
    url: identity.url,
    headersOf({ auth }, caller): Record<string, string> | undefined {
      if (auth === 'provisioning') {
        if (caller === 'allowed') return { authorization: `Bearer ${own.token}` };
        return caller === 'anonymous' ? {} : undefined;
      }
      if (caller === 'allowed') return auth === undefined ? adminHeader : {};
      return caller === 'anonymous' && auth === undefined ? {} : undefined;
    },
    prepare: (endpoint) =>
      endpoint.auth === 'provisioning'
        ? prepareScim(identity, endpoint, own.token)
        : prepare(identity, upstream, endpoint),
    // The administrator may use any tenant; it is the objects that belong to one.
    foreign: async ({ params, path }, name) =>
      name === 'id' && path.startsWith('/scim/')
        ? (await prepareScim(identity, { path, method: 'GET' }, provisioning.token)).params['id']
        : name === 'tenantId' && Object.keys(params).length === 1
          ? undefined
          : foreign[name],
    // An attempt that is refused is recorded all the same.
    state: () => digestStore(store, ['audit_records']),
    async close() {
      await store.end();
      await identity.close();
      await upstream.close();
    },
  };
}

/** A tenant with one of everything, and what the endpoint wants to be accepted. */
async function prepare(identity: TestIdentity, upstream: Upstream, endpoint: Operation): Promise<Prepared> {
  const { tenantId, principalId, token, credential } = await makeBearer(identity);
  const params: Record<string, string> = {
    tenantId,
    principalId,
    credentialId: credential.id,
    key: 'control-plane',
  };
  const headers = { 'idempotency-key': randomUUID() };
  const example = endpoint.example === undefined ? {} : { body: endpoint.example };
  const withBody = (changes: object) => ({
    params,
    headers,
    body: { ...(endpoint.example as object), ...changes },
  });
  const newGroup = () =>
    made(identity.post(`/tenants/${tenantId}/groups`, { key: 'people', name: 'People' }));
  const human = async () => {
    const id = await makePrincipal(identity, tenantId, 'human');
    await signIn(identity, tenantId, id);
    return id;
  };
  switch (endpointName(endpoint)) {
    case 'POST /tenants':
      return withBody({ slug: `t-${randomUUID()}` });
    case 'POST /tenants/{tenantId}/audiences':
      return withBody({ key: 'another' });
    case 'POST /tenants/{tenantId}/principals/{principalId}/external-identities':
      return withBody({ subject: randomUUID() });
    case 'POST /tenants/{tenantId}/principals/{principalId}/authentication-contexts':
      return { params: { ...params, principalId: await human() }, ...example };
    case 'GET /tenants/{tenantId}/groups/{groupId}':
    case 'PATCH /tenants/{tenantId}/groups/{groupId}':
    case 'DELETE /tenants/{tenantId}/groups/{groupId}':
    case 'GET /tenants/{tenantId}/groups/{groupId}/members':
      params['groupId'] = (await newGroup()).id;
      return { params, ...example };
    case 'POST /tenants/{tenantId}/groups/{groupId}/members':
      params['groupId'] = (await newGroup()).id;
      return withBody({ principalId });
    case 'DELETE /tenants/{tenantId}/groups/{groupId}/members/{principalId}':
      params['groupId'] = (await newGroup()).id;
      await made(identity.post(`/tenants/${tenantId}/groups/${params['groupId']}/members`, { principalId }));
      return { params };
    case 'POST /tenants/{tenantId}/identity-providers':
      return withBody({ issuer: `https://${randomUUID()}.example.com` });
    case 'POST /tenants/{tenantId}/federation:authenticate':
    case 'POST /tenants/{tenantId}/federation:exchange': {
      const provider = { key: 'corporate', issuer: upstream.issuer, audience: upstreamAudience };
      await made(identity.post(`/tenants/${tenantId}/identity-providers`, provider));
      return withBody({ token: await upstream.sign({ sub: randomUUID() }) });
    }
    case 'GET /tenants/{tenantId}/identity-providers/{key}':
    case 'PATCH /tenants/{tenantId}/identity-providers/{key}':
    case 'POST /tenants/{tenantId}/identity-providers/{key}:disable':
    case 'POST /tenants/{tenantId}/identity-providers/{key}:enable': {
      const issuer = 'https://login.example.com';
      const provider = { key: 'control-plane', issuer, audience: 'baton' };
      await made(identity.post(`/tenants/${tenantId}/identity-providers`, provider));
      return { params, ...example };
    }
    case 'GET /tenants/{tenantId}/service-accounts/{clientId}':
    case 'PATCH /tenants/{tenantId}/service-accounts/{clientId}':
    case 'POST /tenants/{tenantId}/service-accounts/{clientId}:revoke':
      params['clientId'] = (await makeServiceAccount(identity, tenantId)).clientId;
      return { params, ...example };
    case 'POST /tenants/{tenantId}/legacy-credentials:import':
      return withBody({ principalId, keyPrefix: randomUUID().replaceAll('-', '').slice(0, 12) });
    case 'POST /platform-access-tokens:exchange':
    case 'POST /platform-access-tokens:introspect':
    case 'POST /platform-access-tokens:revoke-self':
      return withBody({ token });
    case 'POST /tokens/exchange': {
      const { clientId, clientSecret } = await makeServiceAccount(identity, tenantId);
      return withBody({ clientId, clientSecret });
    }
    case 'POST /oauth2/token': {
      const { clientId, clientSecret } = await makeServiceAccount(identity, tenantId);
      return withBody({ client_id: clientId, client_secret: clientSecret });
    }
    case 'POST /tenants/{tenantId}/provisioning-sources': {
      await makeProvider(identity, tenantId);
      const { principalId: servicePrincipalId } = await makeServiceAccount(identity, tenantId);
      return withBody({ servicePrincipalId });
    }
    case 'GET /tenants/{tenantId}/provisioning-sources/{sourceId}':
    case 'PATCH /tenants/{tenantId}/provisioning-sources/{sourceId}':
    case 'POST /tenants/{tenantId}/provisioning-sources/{sourceId}:disable':
    case 'POST /tenants/{tenantId}/provisioning-sources/{sourceId}:enable':
    case 'POST /tenants/{tenantId}/provisioning-sources/{sourceId}:heartbeat': {
      await makeProvider(identity, tenantId, 'ldap', 'read_only');
      const source = { key: 'ldap', kind: 'ldap', identityProvider: 'ldap' };
      const { id } = await made(identity.post(`/tenants/${tenantId}/provisioning-sources`, source));
      return { params: { ...params, sourceId: id }, ...example };
    }
    case 'POST /tenants/{tenantId}/provisioning-sources/{sourceId}/tokens':
    case 'GET /tenants/{tenantId}/provisioning-sources/{sourceId}/tokens':
    case 'POST /tenants/{tenantId}/provisioning-sources/{sourceId}/tokens/{tokenId}:revoke': {
      const { tenantId, sourceId, tokenId } = await makeProvisioning(identity);
      return { params: { tenantId, sourceId, tokenId }, headers, ...example };
    }
    case 'GET /events':
      return { params, query: `?tenantId=${tenantId}` };
    default:
      return { params, headers, ...example };
  }
}
