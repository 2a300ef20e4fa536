import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { type Attempt, attemptOf, type Fault, fault, orderTests } from '../../testing/check-order.ts';
import { storeFaults, withFields } from '../../testing/faults.ts';
import type { TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal } from '../../testing/objects.ts';
import type { ErrorCode } from '../errors.ts';
import { makeRealm, newSubject, startFederation } from '../federation/testing/sign-in.ts';
import { makePair, nowSeconds, type Upstream } from '../federation/testing/upstream.ts';
import { VirtualAuthenticator } from '../passkeys/testing/authenticator.ts';
import { ask, invite, makePerson } from '../passkeys/testing/people.ts';
import { accept } from './invitations.api.ts';

/** The order of checks of an acceptance: docs/reference/invitations.md#accept. */

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
const { store, closedTenant, noMember, pausedPrincipal } = storeFaults(() => identity);

/** An acceptance through a provider; its token is signed after all faults are set. */
interface Acceptance extends Attempt {
  readonly header: Record<string, unknown>;
  readonly claims: Record<string, unknown>;
  isForged: boolean;
}

async function prepare(): Promise<Acceptance> {
  const realm = await makeRealm(identity, upstream, { subjectClaim: 'person', externalIdClaim: 'employee' });
  const { tenantId, providerId, key } = realm;
  const { token, invitation } = await invite(identity, tenantId);
  const ids = { tenantId, providerId, principalId: invitation.principalId, invitationId: invitation.id };
  const attempt = attemptOf(ids, { token, federation: { identityProvider: key, token: '' } }, {});
  const claims = { sub: newSubject(), person: newSubject(), employee: randomUUID() };
  return { ...attempt, header: {}, claims, isForged: false };
}

async function finish({ body, claims, header, isForged }: Acceptance): Promise<void> {
  if (body.federation?.token === '')
    body.federation.token = await upstream.sign(claims, header, isForged ? foreign : upstream.key);
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const unsigned = `${part({ alg: 'HS256', kid: 'upstream-1' })}.${part({})}.AAAA`;

const claiming = (claims: object) => (attempt: Acceptance) => Object.assign(attempt.claims, claims);
const ofProvider =
  (column: 'acr' | 'claims' | 'status' | 'jwks') =>
  ({ ids }: Acceptance) => {
    const { providerId } = ids;
    if (column === 'acr')
      return store`update identity_providers set required_acr_values = '{gold}' where id = ${providerId}`;
    if (column === 'claims')
      return store`update identity_providers set required_claims = '{"org":["acme"]}' where id = ${providerId}`;
    return column === 'status'
      ? store`update identity_providers set status = 'disabled' where id = ${providerId}`
      : store`update identity_providers set jwks_uri = 'http://127.0.0.1:1/keys' where id = ${providerId}`;
  };

/** The person's own identity at the provider is disabled, or somebody else has it. */
const linked =
  (isOwn: boolean) =>
  async ({ ids, claims }: Acceptance) => {
    const { tenantId = '', providerId, principalId = '' } = ids;
    const owner = isOwn ? principalId : await makePrincipal(identity, tenantId, 'human');
    const externalId = isOwn ? '' : String(claims['employee']);
    const subject = isOwn ? String(claims['person']) : randomUUID();
    await store`
      insert into external_identities (id, tenant_id, principal_id, issuer, subject, status, source,
        identity_provider_id, external_id)
      values (gen_random_uuid(), ${tenantId}, ${owner}, ${upstream.issuer}, ${subject}, 'disabled', 'provisioned',
        ${providerId}, ${externalId})`;
  };

const ofLink: readonly Fault<Acceptance>[] = [
  fault('invalid_invitation', withFields({ token: 'nonsense' }), 'no link at all'),
  fault('invalid_invitation', ({ body }) => (body.token += 'x'), 'wrong secret'),
  fault(
    'invalid_invitation',
    ({ ids }) => store`update invitations set revoked_at = now() where id = ${ids['invitationId']}`,
    'revoked',
  ),
  fault('invalid_invitation', closedTenant, 'tenant'),
  fault('invalid_invitation', noMember, 'membership'),
  fault(
    'invalid_invitation',
    async (attempt: Acceptance) => {
      await pausedPrincipal(attempt);
      await store`update invitations set activates = false where id = ${attempt.ids['invitationId']}`;
    },
    'principal',
  ),
];

/** An acceptance with a passkey, for a person who already has one. */
async function prepareWithPasskey(): Promise<Acceptance> {
  const { tenantId, providerId } = await makeRealm(identity, upstream);
  const { principalId } = await makePerson(identity, tenantId);
  const { token, invitation } = await invite(identity, tenantId, { principalId });
  const { publicKey, state } = await made(ask(identity, '/invitations:registration-options', { token }));
  const passkey = { state, credential: new VirtualAuthenticator().create(publicKey), name: 'x' };
  const ids = { tenantId, providerId, principalId, invitationId: invitation.id };
  return { ...attemptOf(ids, { token, passkey }, {}), header: {}, claims: {}, isForged: false };
}

const manyPasskeys = ({ ids }: Acceptance) => store`
  insert into passkeys (id, tenant_id, principal_id, external_identity_id, name, credential_id, public_key, sign_count,
    is_synced, is_backed_up)
  select gen_random_uuid(), tenant_id, principal_id, external_identity_id, 'x', gen_random_uuid(), '', 0, true, true
  from passkeys, generate_series(1, 9) where principal_id = ${ids['principalId']}`;

const ofPasskey: readonly Fault<Acceptance>[] = [
  fault('passkey_rejected', ({ body }) => (body.passkey.state = 'AAAA'), 'state'),
  fault('passkey_rejected', ({ body }) => (body.passkey.credential.response.attestationObject = 'AAAA')),
  fault('too_many_passkeys', manyPasskeys),
  fault(
    'passkey_exists',
    ({ ids, body }) => store`
    update passkeys set credential_id = ${body.passkey.credential.id}
    where id = (select id from passkeys where principal_id = ${ids['principalId']} limit 1)`,
  ),
];

const byPasskeyOnly = ['passkey_rejected', 'too_many_passkeys', 'passkey_exists'] as const;
const byProviderOnly = accept.errors.filter(
  (code) => code !== 'invalid_invitation' && !byPasskeyOnly.some((own) => own === code),
) as ErrorCode[];

orderTests<Acceptance>(
  () => identity,
  [
    {
      endpoint: 'POST /invitations:accept',
      prepare: prepareWithPasskey,
      besides: byProviderOnly,
      proven: ofLink,
      faults: [
        fault('a list', withFields({ federation: { identityProvider: 'x', token: 'x' } }), 'both'),
        ...ofLink,
        ...ofPasskey,
      ],
    },
    {
      endpoint: 'POST /invitations:accept',
      prepare,
      finish,
      proven: ofLink,
      besides: byPasskeyOnly,
      faults: [
        fault('a list', withFields({ nobody: 'asked' }), 'unknown field'),
        fault('a list', withFields({ token: '' }), 'token'),
        ...ofLink,
        fault('identity_provider_not_found', ofProvider('status')),
        fault('identity_provider_unavailable', ofProvider('jwks')),
        fault('invalid_token', ({ body }) => (body.federation.token = 'nonsense'), 'no token at all'),
        fault('unsupported_algorithm', ({ body }) => (body.federation.token = unsigned)),
        fault('unknown_signing_key', ({ header }) => (header['kid'] = 'unknown')),
        fault('invalid_signature', (attempt) => (attempt.isForged = true)),
        fault('token_expired', claiming({ exp: nowSeconds() - 1 })),
        fault('invalid_issuer', claiming({ iss: 'https://login.example.com' })),
        fault('invalid_audience', claiming({ aud: 'another' })),
        fault('missing_subject_claim', claiming({ person: '' })),
        fault('step_up_required', ofProvider('acr')),
        fault('claim_not_allowed', ofProvider('claims')),
        fault('external_identity_conflict', linked(false)),
        fault('identity_disabled', linked(true)),
      ],
    },
  ],
);
