import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import {
  type Attempt,
  adminFaults,
  attemptOf,
  type CheckOrder,
  fault,
  orderTests,
} from '../testing/check-order.ts';
import { clashTokensNamed } from '../testing/clash.ts';
import {
  absent,
  longReason,
  malformed,
  storeFaults,
  tenantFaults,
  unknownTenant,
  withFields,
  without,
} from '../testing/faults.ts';
import { startIdentity, type TestIdentity } from '../testing/identity.ts';
import {
  made,
  makeAudience,
  makeBearer,
  makePrincipal,
  makeServiceAccount,
  makeTenant,
  readScope,
  signIn,
} from '../testing/objects.ts';
import { makeProvider, makeProvisioning } from '../testing/provisioning.ts';

/** Tests the orders of checks of the administrator's endpoints: docs/reference/directory.md#order-of-checks. */

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
  await makeBearer(identity);
  await clashTokensNamed(identity, 'clashing');
});
after(() => identity.close());

const {
  store,
  closedTenant,
  noMember,
  pausedPrincipal,
  ofKind,
  closedAudiences,
  revokedToken,
  expiredToken,
} = storeFaults(() => identity);

async function inTenant(body?: object): Promise<Attempt> {
  return attemptOf({ tenantId: await makeTenant(identity) }, body);
}

async function asPerson(body: object): Promise<Attempt> {
  const attempt = await inTenant(body);
  const { ids } = attempt;
  ids['principalId'] = await makePrincipal(identity, ids['tenantId'] ?? '', 'human');
  return attempt;
}

const things: CheckOrder[] = [
  {
    endpoint: 'POST /tenants',
    prepare: async () => attemptOf({}, { slug: `t-${randomUUID()}`, name: 'x' }),
    faults: [
      ...adminFaults,
      fault('tenant_id_exists', async (attempt) => {
        attempt.body.id = await makeTenant(identity);
      }),
      fault('tenant_slug_exists', async ({ body: { slug } }) => {
        await made(identity.post('/tenants', { slug, name: 'x' }));
      }),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/principals',
    prepare: () => inTenant({ kind: 'human', displayName: 'x' }),
    faults: [...tenantFaults, unknownTenant],
  },
  {
    endpoint: 'GET /tenants/{tenantId}/principals/{principalId}',
    prepare: async () => ({ ...(await asPerson({})), body: undefined }),
    faults: [...tenantFaults, fault('principal_not_found', noMember)],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/principals/{principalId}:disable',
    prepare: async () => ({ ...(await asPerson({})), body: undefined }),
    faults: [...tenantFaults, longReason, fault('principal_not_found', noMember)],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/principals/{principalId}/external-identities',
    prepare: () => asPerson({ issuer: `https://${randomUUID()}.example.com`, subject: 'x' }),
    faults: [
      ...tenantFaults,
      malformed('principalId'),
      fault('principal_not_found', noMember),
      fault('identity_provider_managed', async ({ ids, body }) => {
        const id = await makeProvider(identity, ids['tenantId'] ?? '', 'corporate', 'read_only');
        await store`update identity_providers set issuer = ${body.issuer} where id = ${id}`;
      }),
      fault('external_identity_exists', async ({ body }) => {
        const { tenantId, principalId } = await makeBearer(identity);
        const path = `/tenants/${tenantId}/principals/${principalId}/external-identities`;
        const { issuer, subject } = body;
        await made(identity.post(path, { issuer, subject }));
      }),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/principals/{principalId}/authentication-contexts',
    prepare: () => asPerson({ issuer: 'https://login.example.com' }),
    faults: [
      ...tenantFaults,
      malformed('principalId'),
      fault('tenant_not_found', closedTenant),
      fault('principal_not_found', noMember),
      fault('principal_not_active', pausedPrincipal),
      fault('human_principal_required', ofKind('workload')),
      fault('external_identity_not_found', withFields({ externalIdentityId: randomUUID() })),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/audiences',
    prepare: () => inTenant({ key: 'control-plane', allowedScopes: [readScope] }),
    faults: [
      ...tenantFaults,
      unknownTenant,
      fault('invalid_scope', withFields({ allowedScopes: [''] }), 'empty'),
      fault('invalid_scope', withFields({ allowedScopes: ['x'.repeat(121)] }), 'too long'),
      fault('signing_algorithm_unavailable', withFields({ signingAlgorithm: 'ES256' })),
      fault('audience_exists', ({ ids }) => makeAudience(identity, ids['tenantId'] ?? '')),
    ],
  },
  {
    endpoint: 'GET /tenants/{tenantId}/audiences',
    prepare: () => inTenant(),
    faults: [...tenantFaults, unknownTenant],
  },
  {
    endpoint: 'PATCH /tenants/{tenantId}/audiences/{key}',
    async prepare() {
      const attempt = await inTenant({ allowedScopes: [readScope] });
      await makeAudience(identity, attempt.ids['tenantId'] ?? '');
      attempt.ids['key'] = 'control-plane';
      return attempt;
    },
    faults: [
      ...tenantFaults,
      fault('audience_not_found', absent('key')),
      fault('audience_not_found', absent('tenantId'), 'tenant'),
      fault('invalid_scope', withFields({ allowedScopes: [''] })),
      fault('signing_algorithm_unavailable', withFields({ signingAlgorithm: 'EdDSA' })),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/groups',
    prepare: () => inTenant({ key: 'people', name: 'x' }),
    faults: [
      ...tenantFaults,
      unknownTenant,
      fault('group_exists', ({ ids }) =>
        made(identity.post(`/tenants/${ids['tenantId']}/groups`, { key: 'people', name: 'y' })),
      ),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/groups/{groupId}/members',
    async prepare() {
      const attempt = await asPerson({});
      const { tenantId, principalId } = attempt.ids;
      const group = await made(identity.post(`/tenants/${tenantId}/groups`, { key: 'people', name: 'x' }));
      attempt.ids['groupId'] = group.id;
      attempt.body = { principalId };
      return attempt;
    },
    faults: [
      ...tenantFaults,
      malformed('groupId'),
      fault('group_not_found', absent('groupId')),
      fault(
        'group_is_federated',
        ({ ids }) => store`update groups set source = 'scim' where id = ${ids['groupId']}`,
      ),
      fault('principal_not_found', noMember),
      fault('group_membership_exists', ({ ids: { tenantId, groupId, principalId } }) =>
        made(identity.post(`/tenants/${tenantId}/groups/${groupId}/members`, { principalId })),
      ),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/identity-providers',
    prepare: () =>
      inTenant({ key: 'corporate', issuer: `https://${randomUUID()}.example.com`, audience: 'baton' }),
    faults: [
      ...tenantFaults,
      unknownTenant,
      fault('invalid_issuer', withFields({ issuer: 'login.example.com' })),
      fault(
        'too_many_identity_providers',
        ({ ids }) => store`
          insert into identity_providers (id, tenant_id, key, issuer, registered_issuer, audience, lifecycle_profile)
          select gen_random_uuid(), ${ids['tenantId']}, 'filled-' || n, 'https://' || n || '.example', '', 'baton', 'managed'
          from generate_series(1, 200) as n`,
      ),
      fault(
        'identity_provider_exists',
        ({ ids }) => store`
          insert into identity_providers (id, tenant_id, key, issuer, registered_issuer, audience, lifecycle_profile)
          values (gen_random_uuid(), ${ids['tenantId']}, 'corporate', 'https://corporate.example', '', 'baton', 'managed')`,
      ),
    ],
  },
];

const accounts: CheckOrder[] = [
  {
    endpoint: 'POST /tenants/{tenantId}/service-accounts',
    async prepare() {
      const attempt = await inTenant({ displayName: 'x', audiences: ['control-plane'], scopeCeiling: ['x'] });
      await makeAudience(identity, attempt.ids['tenantId'] ?? '');
      return attempt;
    },
    faults: [
      ...tenantFaults,
      fault('unknown_audience', withFields({ audiences: ['control-plane', 'unknown'] })),
      fault('unknown_audience', absent('tenantId'), 'tenant'),
    ],
  },
  {
    endpoint: 'PATCH /tenants/{tenantId}/service-accounts/{clientId}',
    prepare: () => withAccount({}),
    faults: [
      ...tenantFaults,
      fault('service_account_not_found', absent('clientId')),
      fault('service_account_revoked', revokedAccount),
      fault('unknown_audience', withFields({ audiences: ['unknown'] })),
      fault('unknown_audience', closedAudiences, 'a stored one'),
      fault('invalid_scope_ceiling', withFields({ scopeCeiling: ['wider'] })),
      fault(
        'invalid_scope_ceiling',
        ({ ids }) => store`update audiences set allowed_scopes = '{}' where tenant_id = ${ids['tenantId']}`,
        'the stored one',
      ),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/service-accounts/{clientId}:revoke',
    prepare: () => withAccount(undefined),
    faults: [...tenantFaults, fault('service_account_not_found', absent('clientId'))],
  },
];

async function withAccount(body: object | undefined): Promise<Attempt> {
  const attempt = await inTenant(body);
  const tenantId = attempt.ids['tenantId'] ?? '';
  await makeAudience(identity, tenantId);
  attempt.ids['clientId'] = (await makeServiceAccount(identity, tenantId)).clientId;
  return attempt;
}

function revokedAccount({ ids }: Attempt) {
  return store`update service_accounts set revoked_at = now() where client_id = ${ids['clientId']}`;
}

const widerCeiling = fault('invalid_scope_ceiling', withFields({ scopeCeiling: [readScope, 'wider'] }));

/** Another token of the tenant has already used the attempt's key for a different request. */
async function takenKey({ ids, headers }: Attempt): Promise<void> {
  await store`
    insert into platform_access_tokens (id, tenant_id, principal_id, kind, name, public_prefix, secret_hash, audiences,
      scope_ceiling, origin, expires_at, idempotency_key, idempotency_fingerprint)
    values (gen_random_uuid(), ${ids['tenantId']}, ${ids['ownerId']}, 'platform_access_token', 'x',
      ${randomUUID()}, ${randomUUID()}, '{}', '{}', 'agent', now(), ${headers['idempotency-key']}, 'another')`;
}

async function withToken(body: object | undefined): Promise<Attempt> {
  const { tenantId, principalId, credential } = await makeBearer(identity);
  const attempt = attemptOf(
    { tenantId, principalId, ownerId: principalId, credentialId: credential.id },
    body,
  );
  attempt.headers['idempotency-key'] = randomUUID();
  return attempt;
}

function legacyKey() {
  const digits = () => randomUUID().replaceAll('-', '');
  const material = { keyPrefix: digits().slice(0, 12), keyHash: `${digits()}${digits()}` };
  return {
    ...material,
    name: 'x',
    audience: 'control-plane',
    scopeCeiling: [readScope],
    expiresInSeconds: 60,
  };
}

const credentials: CheckOrder[] = [
  {
    endpoint: 'POST /tenants/{tenantId}/principals/{principalId}/platform-access-tokens',
    async prepare() {
      const attempt = await withToken({ name: 'x', audiences: ['control-plane'], scopeCeiling: [readScope] });
      const { ids } = attempt;
      ids['principalId'] = await makePrincipal(identity, ids['tenantId'] ?? '', 'human');
      await signIn(identity, ids['tenantId'] ?? '', ids['principalId']);
      return attempt;
    },
    faults: [
      ...tenantFaults,
      malformed('principalId'),
      fault('a list', withFields({ audiences: [] }), 'audiences'),
      fault('idempotency_key_required', without('idempotency-key')),
      fault('idempotency_key_reused', takenKey),
      fault('tenant_not_found', closedTenant),
      fault('principal_not_found', noMember),
      fault('principal_not_active', pausedPrincipal),
      fault('principal_kind_not_allowed', ofKind('workload')),
      fault(
        'authentication_context_required',
        ({ ids }) => store`delete from authentication_contexts where principal_id = ${ids['principalId']}`,
      ),
      fault(
        'authentication_context_expired',
        ({ ids }) => store`
          update authentication_contexts set recorded_at = now() - interval '301 s'
          where principal_id = ${ids['principalId']}`,
      ),
      fault('unknown_audience', withFields({ audiences: ['control-plane', 'unknown'] })),
      widerCeiling,
      fault('expiry_too_long', withFields({ expiresInSeconds: 31_536_001 })),
      fault('credential_conflict', withFields({ name: 'clashing' })),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/platform-access-tokens/{credentialId}:rotate',
    prepare: () => withToken({}),
    faults: [
      ...tenantFaults,
      malformed('credentialId'),
      fault('idempotency_key_required', without('idempotency-key')),
      fault('idempotency_key_reused', takenKey),
      fault('credential_not_found', absent('credentialId')),
      fault('credential_not_active', revokedToken, 'revoked'),
      fault('credential_not_active', expiredToken, 'expired'),
      fault('tenant_not_found', closedTenant),
      fault('principal_not_found', noMember),
      fault('principal_not_active', pausedPrincipal),
      fault(
        'credential_conflict',
        ({ ids }) =>
          store`update platform_access_tokens set name = 'clashing' where id = ${ids['credentialId']}`,
      ),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/platform-access-tokens/{credentialId}:revoke',
    prepare: () => withToken(undefined),
    faults: [...tenantFaults, longReason, fault('credential_not_found', absent('credentialId'))],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/legacy-credentials:import',
    async prepare() {
      const attempt = await withToken(undefined);
      attempt.body = { ...legacyKey(), principalId: attempt.ids['principalId'] };
      return attempt;
    },
    faults: [
      ...tenantFaults,
      fault('a list', withFields({ expiresInSeconds: 59 }), 'too short a life'),
      fault('a list', withFields({ keyHash: 'a'.repeat(63) }), 'too short a hash'),
      fault('invalid_credential_material', withFields({ keyPrefix: 'x'.repeat(12) }), 'prefix'),
      fault('invalid_credential_material', withFields({ keyHash: 'x'.repeat(64) }), 'hash'),
      fault('compatibility_window_too_long', withFields({ expiresInSeconds: 7_776_001 })),
      fault('tenant_not_found', closedTenant),
      fault('principal_not_found', noMember),
      fault('principal_not_active', pausedPrincipal),
      fault('unknown_audience', withFields({ audience: 'unknown' })),
      widerCeiling,
      fault('credential_exists', async ({ body: { keyHash } }) => {
        const { tenantId, principalId } = await makeBearer(identity);
        const rival = { ...legacyKey(), principalId, keyHash };
        await made(identity.post(`/tenants/${tenantId}/legacy-credentials:import`, rival));
      }),
    ],
  },
];

/** Names the invalid principal again, because a source that names no principal can't have this fault. */
const named = (put: (attempt: Attempt) => unknown) => (attempt: Attempt) => {
  attempt.body.servicePrincipalId = attempt.ids['principalId'];
  return put(attempt);
};

const sources: CheckOrder[] = [
  {
    endpoint: 'POST /tenants/{tenantId}/provisioning-sources',
    async prepare() {
      const attempt = await inTenant({ key: 'entra', identityProvider: 'corporate' });
      const { ids, body } = attempt;
      const tenantId = ids['tenantId'] ?? '';
      await makeAudience(identity, tenantId);
      await makeProvider(identity, tenantId, 'corporate');
      ids['principalId'] = (await makeServiceAccount(identity, tenantId)).principalId;
      body.servicePrincipalId = ids['principalId'];
      return attempt;
    },
    faults: [
      ...tenantFaults,
      fault('a list', withFields({ staleAfterSeconds: 59 }), 'bounds'),
      unknownTenant,
      fault('identity_provider_not_found', withFields({ identityProvider: 'unknown' })),
      fault(
        'population_managed_by_directory',
        ({ ids }) => store`
          update identity_providers set lifecycle_profile = 'read_only' where tenant_id = ${ids['tenantId']}`,
      ),
      fault('principal_not_found', named(noMember)),
      fault('service_account_required', named(ofKind('workload'))),
      fault('service_principal_required', withFields({ servicePrincipalId: null })),
      fault('provisioning_source_exists', async ({ ids, body }) => {
        const tenantId = ids['tenantId'] ?? '';
        const { principalId } = await makeServiceAccount(identity, tenantId);
        await makeProvider(identity, tenantId, 'other');
        const rival = { key: body.key, identityProvider: 'other', servicePrincipalId: principalId };
        await made(identity.post(`/tenants/${tenantId}/provisioning-sources`, rival));
      }),
    ],
  },
];

async function withSource(body?: object): Promise<Attempt> {
  const { tenantId, sourceId, tokenId } = await makeProvisioning(identity);
  const attempt = attemptOf({ tenantId, sourceId, tokenId }, body);
  attempt.headers['idempotency-key'] = randomUUID();
  return attempt;
}

const tokensPath = ({ ids }: Attempt) =>
  `/tenants/${ids['tenantId']}/provisioning-sources/${ids['sourceId']}/tokens`;

const provisioningTokens: CheckOrder[] = [
  {
    endpoint: 'POST /tenants/{tenantId}/provisioning-sources/{sourceId}/tokens',
    prepare: () => withSource({ name: 'x' }),
    faults: [
      ...tenantFaults,
      malformed('sourceId'),
      fault('a list', withFields({ expiresInSeconds: 31_536_001 }), 'longer than a year'),
      fault('provisioning_source_not_found', absent('sourceId')),
      fault('idempotency_key_reused', async (attempt) => {
        // Written directly to the database, because a source with two live tokens can't get another.
        const key = attempt.headers['idempotency-key'];
        await store`
          update provisioning_tokens set idempotency_key = ${key}, idempotency_fingerprint = 'another'
          where id = ${attempt.ids['tokenId']}`;
      }),
      fault('token_limit_reached', (attempt) => made(identity.post(tokensPath(attempt), { name: 'second' }))),
    ],
  },
  {
    endpoint: 'GET /tenants/{tenantId}/provisioning-sources/{sourceId}/tokens',
    prepare: () => withSource(),
    faults: [...tenantFaults, fault('provisioning_source_not_found', absent('sourceId'))],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/provisioning-sources/{sourceId}/tokens/{tokenId}:revoke',
    prepare: () => withSource(),
    faults: [
      ...tenantFaults,
      fault('credential_not_found', absent('sourceId'), 'source'),
      fault('credential_not_found', absent('tokenId')),
    ],
  },
];

orderTests(() => identity, [...things, ...accounts, ...credentials, ...sources, ...provisioningTokens]);
