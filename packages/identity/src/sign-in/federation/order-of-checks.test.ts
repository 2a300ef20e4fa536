import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { type Attempt, attemptOf, type Fault, fault, orderTests } from '../../testing/check-order.ts';
import { absent, malformed, storeFaults, withFields } from '../../testing/faults.ts';
import type { TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal, readScope } from '../../testing/objects.ts';
import { makeRealm, newSubject, startFederation } from './testing/sign-in.ts';
import { makePair, nowSeconds, type Upstream } from './testing/upstream.ts';

/**
 * Tests the order of checks of a sign-in: docs/reference/providers.md#verification and
 * docs/reference/providers.md#exchange-an-upstream-token.
 */

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const foreign = makePair('upstream-1');

/** A sign-in of a known person; its token is signed after all faults are set. */
interface SignIn extends Attempt {
  readonly header: Record<string, unknown>;
  readonly claims: Record<string, unknown>;
  /** A final change to the token, such as damaging it. */
  broken: ((token: string) => string) | undefined;
  isForged: boolean;
}

const { store, noMember, ofKind, closedAudiences } = storeFaults(() => identity);
const claiming = (claims: object) => (attempt: SignIn) => Object.assign(attempt.claims, claims);

async function prepare(more: object): Promise<SignIn> {
  const employee = randomUUID();
  const claims = { sub: newSubject(), person: newSubject(), employee };
  const realm = await makeRealm(identity, upstream, { subjectClaim: 'person', externalIdClaim: 'employee' });
  const { tenantId, providerId, key } = realm;
  const first = { identityProvider: key, token: await upstream.sign(claims) };
  const path = `/api/v1/tenants/${tenantId}/federation:authenticate`;
  const { principalId } = await made(identity.request('POST', path, { body: first }));
  // Simulates a manually linked identity. Only one identity of a provider can have an external id.
  await store`update external_identities set external_id = '' where principal_id = ${principalId}`;
  const ids = { tenantId, principalId, providerId };
  const attempt = attemptOf(ids, { identityProvider: key, token: '', ...more }, {});
  return { ...attempt, header: {}, claims, broken: undefined, isForged: false };
}

async function finish(attempt: SignIn): Promise<void> {
  const { claims, header, broken, isForged } = attempt;
  const token = await upstream.sign(claims, header, isForged ? foreign : upstream.key);
  if (attempt.body.token === '') attempt.body.token = broken?.(token) ?? token;
}

/** A different header over the same payload and signature. */
const headed = (attempt: SignIn, change: (header: object) => object) => {
  const former = attempt.broken ?? ((token: string) => token);
  attempt.broken = (token) => {
    const [head = '', ...rest] = former(token).split('.');
    const header = change(JSON.parse(Buffer.from(head, 'base64url').toString()));
    return [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.');
  };
};

const byToken: readonly Fault<SignIn>[] = [
  fault('invalid_token', (attempt) => headed(attempt, (header) => ({ ...header, crit: ['exp'] })), 'header'),
  fault('unsupported_algorithm', (attempt) => headed(attempt, (header) => ({ ...header, alg: 'HS256' }))),
  fault('unknown_signing_key', ({ header }) => (header['kid'] = 'unknown')),
  fault('invalid_signature', (attempt) => (attempt.isForged = true)),
  fault('invalid_token', claiming({ sub: undefined }), 'claims'),
  fault('invalid_token', claiming({ iat: nowSeconds() + 3600 }), 'of the future'),
  fault('token_expired', claiming({ exp: nowSeconds() - 1 })),
  fault('invalid_issuer', claiming({ iss: 'https://login.example.com' })),
  fault('invalid_audience', claiming({ aud: 'another' })),
  fault('missing_subject_claim', claiming({ person: '' })),
  fault(
    'step_up_required',
    ({ ids }) =>
      store`update identity_providers set required_acr_values = '{gold}' where id = ${ids['providerId']}`,
  ),
  fault(
    'claim_not_allowed',
    ({ ids }) =>
      store`update identity_providers set required_claims = '{"org":["acme"]}' where id = ${ids['providerId']}`,
  ),
];

/** A second identity at the provider, which has the external id of the token. */
async function takenExternalId({ ids, claims }: SignIn): Promise<void> {
  const { tenantId = '', providerId } = ids;
  const other = await makePrincipal(identity, tenantId, 'human');
  await store`
    insert into external_identities (id, tenant_id, principal_id, issuer, subject, source, identity_provider_id,
      external_id)
    values (gen_random_uuid(), ${tenantId}, ${other}, ${upstream.issuer}, ${randomUUID()}, 'provisioned', ${providerId},
      ${String(claims['employee'])})`;
}

const byLink: readonly Fault<SignIn>[] = [
  fault('external_identity_conflict', takenExternalId, 'two identities'),
  fault(
    'identity_disabled',
    ({ ids }) =>
      store`update external_identities set status = 'disabled' where principal_id = ${ids['principalId']}`,
  ),
  fault(
    'external_identity_conflict',
    ({ ids }) =>
      store`update external_identities set external_id = 'other' where principal_id = ${ids['principalId']}`,
    'another external id',
  ),
  fault(
    'principal_disabled',
    ({ ids }) => store`update principals set status = 'paused' where id = ${ids['principalId']}`,
  ),
  fault('principal_not_in_tenant', noMember),
];

const common: readonly Fault<SignIn>[] = [
  malformed('tenantId'),
  fault('a list', withFields({ username: 'x' }), 'unknown field'),
  fault('a list', withFields({ identityProvider: '' }), 'provider'),
  fault('identity_provider_not_found', absent('tenantId'), 'tenant'),
  fault(
    'identity_provider_not_found',
    ({ ids }) => store`update tenants set status = 'disabled' where id = ${ids['tenantId']}`,
    'tenant not active',
  ),
  fault(
    'identity_provider_not_found',
    ({ ids }) => store`update identity_providers set status = 'disabled' where id = ${ids['providerId']}`,
    'not active',
  ),
  fault(
    'identity_provider_unavailable',
    ({ ids }) => store`
      update identity_providers set jwks_uri = 'http://127.0.0.1:1/keys' where id = ${ids['providerId']}`,
  ),
  fault('invalid_token', ({ body }) => (body.token = 'nonsense'), 'no token at all'),
  ...byToken,
  ...byLink,
];

const privileged = async ({ ids, body }: SignIn) => {
  await store`
    update audiences set allowed_scopes = allowed_scopes || '{fleet:admin}' where tenant_id = ${ids['tenantId']}`;
  body.scopes = [...body.scopes, 'fleet:admin'];
};

/**
 * This refusal applies to a person without a link, so it can't be combined with the faults of a link. See
 * sign-in-requests.test.ts.
 */
const besides = ['admission_pending'] as const;

orderTests(
  () => identity,
  [
    {
      endpoint: 'POST /tenants/{tenantId}/federation:authenticate',
      prepare: () => prepare({}),
      faults: common,
      besides,
      finish,
    },
    {
      endpoint: 'POST /tenants/{tenantId}/federation:start-session',
      prepare: () => prepare({}),
      proven: common,
      faults: [...common, fault('human_principal_required', ofKind('agent'))],
      besides,
      finish,
    },
    {
      endpoint: 'POST /tenants/{tenantId}/federation:exchange',
      prepare: () => prepare({ audience: 'control-plane', scopes: [readScope] }),
      proven: common,
      faults: [
        ...common,
        fault('human_principal_required', ofKind('agent')),
        fault('audience_not_allowed', closedAudiences, 'not active'),
        fault('audience_not_allowed', withFields({ audience: 'unknown' }), 'unknown'),
        fault('scope_not_allowed', ({ body }) => (body.scopes = [...body.scopes, 'unknown']), 'not allowed'),
        fault('scope_not_allowed', privileged, 'privileged'),
      ],
      besides,
      finish,
    },
  ],
);
