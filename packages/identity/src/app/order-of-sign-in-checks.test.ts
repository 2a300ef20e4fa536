import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { makeRealm, newSubject, signInBy, startFederation } from '../sign-in/federation/testing/sign-in.ts';
import type { Upstream } from '../sign-in/federation/testing/upstream.ts';
import { begin, makePkce, oauthSettings, requestOf } from '../sign-in/oauth/testing/browser.ts';
import { requestDevice } from '../sign-in/oauth/testing/device.ts';
import { ask, invite, makePerson } from '../sign-in/passkeys/testing/people.ts';
import { type Attempt, attemptOf, type CheckOrder, fault, orderTests } from '../testing/check-order.ts';
import { absent, malformed, storeFaults, tenantFaults, withFields } from '../testing/faults.ts';
import type { TestIdentity } from '../testing/identity.ts';
import { made, makeAudience, makePrincipal, makeTenant, readScope, writeScope } from '../testing/objects.ts';

/**
 * The orders of checks of passkey sign-ins, links, sign-in requests and OAuth requests: docs/reference/passkeys.md,
 * invitations.md, sign-in-requests.md and oauth.md.
 */

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation({
    ...oauthSettings,
    IAM_TRUSTED_PROXIES: '["127.0.0.1/32"]',
  }));
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const { store, closedTenant, noMember, pausedPrincipal, closedAudiences } = storeFaults(() => identity);

const unknownField = fault('a list', withFields({ nobody: 'asked' }), 'unknown field');

/** A person who signs in with a passkey. */
async function withPasskey(): Promise<Attempt> {
  const { tenantId, principalId, authenticator } = await makePerson(identity, await makeTenant(identity));
  const { publicKey, state } = await made(ask(identity, '/passkeys:sign-in-options'));
  return attemptOf({ tenantId, principalId }, { state, credential: authenticator.get(publicKey) }, {});
}

async function withLink(): Promise<Attempt> {
  const tenantId = await makeTenant(identity);
  const { token, invitation } = await invite(identity, tenantId);
  const ids = { tenantId, principalId: invitation.principalId, invitationId: invitation.id };
  return attemptOf(ids, { token }, {});
}

const linkFaults = [
  unknownField,
  fault('invalid_invitation', withFields({ token: 'nonsense' }), 'no link at all'),
  fault('invalid_invitation', ({ body }: Attempt) => (body.token += 'x'), 'wrong secret'),
  fault(
    'invalid_invitation',
    ({ ids }: Attempt) =>
      store`update invitations set expires_at = now() - interval '1 ms' where id = ${ids['invitationId']}`,
    'expired',
  ),
  fault('invalid_invitation', closedTenant, 'tenant'),
  fault('invalid_invitation', noMember, 'membership'),
];

/** An unknown person who has signed in. */
async function withRequest(body?: object): Promise<Attempt> {
  const realm = await makeRealm(identity, upstream, { unknownPeople: 'request' });
  await signInBy(identity, realm, await upstream.sign({ sub: newSubject() }));
  const { tenantId, providerId } = realm;
  const { items } = await made(identity.get(`/tenants/${tenantId}/sign-in-requests`));
  return attemptOf({ tenantId, providerId, signInRequestId: items[0].id }, body);
}

const decided =
  (status: 'admitted' | 'refused') =>
  ({ ids }: Attempt) =>
    store`
    update sign_in_requests set status = ${status}, decided_at = now() where id = ${ids['signInRequestId']}`;
const requestFaults = [
  ...tenantFaults,
  malformed('signInRequestId'),
  fault('sign_in_request_not_found', absent('signInRequestId')),
];

/** The identity was linked to somebody meanwhile. */
async function linkMeanwhile({ ids }: Attempt): Promise<void> {
  const { tenantId = '', signInRequestId } = ids;
  const principalId = await makePrincipal(identity, tenantId, 'human');
  await store`
    insert into external_identities (id, tenant_id, principal_id, issuer, subject, source)
    select gen_random_uuid(), tenant_id, ${principalId}, issuer, subject, 'manual'
    from sign_in_requests where id = ${signInRequestId}`;
}

let devices = 0;

/** A device at an address of its own, because the number of pending devices per address is limited. */
async function newUserCode(): Promise<string> {
  devices += 1;
  const address = `203.0.113.${devices % 200}`;
  return (await made(requestDevice(identity, {}, { 'x-forwarded-for': address }))).user_code;
}

/** A signed-in person, and a request of an OAuth client for them to decide. */
async function withClient(by: 'browser' | 'device', more: object = {}): Promise<Attempt> {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'control-plane', [readScope, writeScope]);
  const { token, principalId, session } = await makePerson(identity, tenantId);
  const asked =
    by === 'device'
      ? { userCode: await newUserCode() }
      : { request: (await begin(identity, requestOf(makePkce()))).request };
  return attemptOf({ tenantId, principalId, browserSessionId: session.id }, { token, ...asked, ...more }, {});
}

const deadSessions = [
  fault('invalid_token', withFields({ token: 'nonsense' }), 'another form'),
  fault('invalid_token', ({ body }: Attempt) => (body.token += 'x'), 'wrong secret'),
  fault(
    'invalid_token',
    ({ ids }: Attempt) =>
      store`update browser_sessions set ended_at = now() where id = ${ids['browserSessionId']}`,
    'ended',
  ),
  fault('invalid_token', closedTenant, 'tenant'),
  fault('invalid_token', noMember, 'membership'),
  fault('invalid_token', pausedPrincipal, 'principal'),
];
const oldSignIn = fault(
  'authentication_context_expired',
  ({ ids }: Attempt) => store`
    update browser_sessions set auth_time = auth_time - interval '301 s' where id = ${ids['browserSessionId']}`,
);
const closedAudience = fault('audience_not_allowed', closedAudiences);
const unknownRequest = fault('invalid_authorization_request', withFields({ request: 'AAAA' }));
const unknownCode = fault('invalid_user_code', withFields({ userCode: 'BBBB-BBBB' }));
const both = fault('a list', withFields({ request: 'AAAA', userCode: 'BBBB-BBBB' }), 'both');
const sessionFaults = [unknownField, both, ...deadSessions];
const foreignAgent = fault('agent_not_connectable', withFields({ principalId: randomUUID() }));
const decisionFaults = [
  oldSignIn,
  closedAudience,
  fault('scope_not_allowed', withFields({ scopes: ['unknown'] })),
  foreignAgent,
];

const orders: CheckOrder[] = [
  {
    endpoint: 'POST /passkeys:sign-in',
    prepare: withPasskey,
    faults: [
      unknownField,
      fault('invalid_passkey', withFields({ state: 'AAAA' }), 'unknown challenge'),
      fault('invalid_passkey', ({ body }) => (body.credential.response.userHandle = 'AAAA'), 'user handle'),
      fault('invalid_passkey', closedTenant, 'tenant'),
      fault('invalid_passkey', noMember, 'membership'),
      fault('invalid_passkey', pausedPrincipal, 'principal'),
    ],
  },
  { endpoint: 'POST /invitations:read', prepare: withLink, faults: linkFaults },
  {
    endpoint: 'POST /tenants/{tenantId}/sign-in-requests/{signInRequestId}:admit',
    prepare: () => withRequest(),
    faults: [
      ...requestFaults,
      fault('sign_in_request_decided', decided('refused')),
      fault(
        'sign_in_request_expired',
        ({ ids }) =>
          store`update sign_in_requests set expires_at = now() - interval '1 ms' where id = ${ids['signInRequestId']}`,
      ),
      fault(
        'sign_in_request_outdated',
        ({ ids }) => store`update identity_providers set status = 'disabled' where id = ${ids['providerId']}`,
      ),
      fault('external_identity_conflict', linkMeanwhile),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/sign-in-requests/{signInRequestId}:refuse',
    prepare: () => withRequest({ reason: 'unknown' }),
    proven: tenantFaults,
    faults: [
      ...tenantFaults,
      malformed('signInRequestId'),
      fault('a list', withFields({ reason: 'x'.repeat(201) }), 'reason'),
      fault('sign_in_request_not_found', absent('signInRequestId')),
      fault('sign_in_request_decided', decided('admitted')),
    ],
  },
  {
    endpoint: 'POST /oauth-requests:read',
    prepare: () => withClient('browser'),
    proven: deadSessions,
    besides: ['invalid_user_code'],
    faults: [...sessionFaults, unknownRequest, closedAudience, foreignAgent],
  },
  {
    endpoint: 'POST /oauth-requests:read',
    prepare: () => withClient('device'),
    proven: deadSessions,
    besides: ['invalid_authorization_request'],
    faults: [...sessionFaults, unknownCode, closedAudience, foreignAgent],
  },
  {
    endpoint: 'POST /oauth-requests:decide',
    prepare: () => withClient('browser', { decision: 'allow' }),
    proven: deadSessions,
    besides: ['invalid_user_code'],
    faults: [...sessionFaults, unknownRequest, ...decisionFaults],
  },
  {
    endpoint: 'POST /oauth-requests:decide',
    prepare: () => withClient('device', { decision: 'allow' }),
    proven: deadSessions,
    besides: ['invalid_authorization_request'],
    faults: [...sessionFaults, unknownCode, ...decisionFaults],
  },
];

orderTests(() => identity, orders);
