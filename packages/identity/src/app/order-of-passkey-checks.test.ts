import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { decide, oauthSettings } from '../sign-in/oauth/testing/browser.ts';
import { newDevice } from '../sign-in/oauth/testing/device.ts';
import { VirtualAuthenticator } from '../sign-in/passkeys/testing/authenticator.ts';
import {
  addPasskey,
  ask,
  invite,
  makeHuman,
  makePerson,
  passkeyIds,
  signInWith,
} from '../sign-in/passkeys/testing/people.ts';
import {
  type Attempt,
  adminFaults,
  attemptOf,
  type CheckOrder,
  fault,
  orderTests,
} from '../testing/check-order.ts';
import {
  absent,
  longReason,
  malformed,
  storeFaults,
  tenantFaults,
  unknownTenant,
  withFields,
} from '../testing/faults.ts';
import { startIdentity, type TestIdentity, testSigningKey } from '../testing/identity.ts';
import { made, makeAudience, makeTenant, readScope } from '../testing/objects.ts';

/**
 * The orders of checks of passkeys, browser sessions and invitations: docs/reference/passkeys.md,
 * docs/reference/browser-sessions.md and docs/reference/invitations.md.
 */

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_PASSKEYS_PER_PERSON_MAX: '3',
    IAM_INVITATIONS_OPEN_MAX: '3',
    ...oauthSettings,
  });
});
after(() => identity.close());

const { store, closedTenant, noMember, pausedPrincipal, ofKind, closedAudiences } = storeFaults(
  () => identity,
);

/** A signed-in person with two passkeys. */
async function prepare(body: (person: Awaited<ReturnType<typeof prepareIds>>) => object | undefined) {
  const person = await prepareIds();
  return attemptOf(person.ids, body(person));
}

async function prepareIds() {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  const { token, session, principalId, authenticator } = await makePerson(identity, tenantId);
  await made(addPasskey(identity, token));
  const [passkeyId = ''] = await passkeyIds(identity, { tenantId, principalId } as never);
  return {
    token,
    authenticator,
    ids: { tenantId, principalId, passkeyId, browserSessionId: session.id as string },
  };
}

const own = async (body: (person: Awaited<ReturnType<typeof prepareIds>>) => object): Promise<Attempt> => ({
  ...(await prepare(body)),
  headers: {},
});

const unknownField = fault('a list', withFields({ nobody: 'asked' }), 'unknown field');
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
/** The grant is that of a device, because a device needs neither a browser nor a redirect. */
async function ownWithGrant(): Promise<Attempt> {
  const attempt = await own(({ token }) => ({ token }));
  const { token } = attempt.body as { token: string };
  await made(decide(identity, { token }, { userCode: (await newDevice(identity)).user_code }));
  const { items } = await made(ask(identity, '/oauth-grants:list', { token }));
  return { ...attempt, body: { token, grantId: items[0].id } };
}
const oldSignIn = fault(
  'authentication_context_expired',
  ({ ids }: Attempt) => store`
    update browser_sessions set auth_time = auth_time - interval '301 s' where id = ${ids['browserSessionId']}`,
);
const anotherPasskey = ({ ids }: Attempt) => store`
  insert into passkeys (id, tenant_id, principal_id, external_identity_id, name, credential_id, public_key, sign_count,
    is_synced, is_backed_up)
  select gen_random_uuid(), tenant_id, principal_id, external_identity_id, 'x', gen_random_uuid(), '', 0, true, true
  from passkeys where id = ${ids['passkeyId']}`;
const manyPasskeys = fault('too_many_passkeys', anotherPasskey);
const otherPasskeysGone = fault(
  'last_passkey',
  ({ ids }: Attempt) => store`
    delete from passkeys where principal_id = ${ids['principalId']} and id <> ${ids['passkeyId']}`,
);
const passkeyFaults = [
  ...tenantFaults,
  malformed('passkeyId'),
  fault('passkey_not_found', absent('passkeyId')),
];

async function withCreated({ token, ids }: { token: string; ids: Record<string, string> }) {
  const { publicKey, state } = await made(ask(identity, '/passkeys:registration-options', { token }));
  const credential = new VirtualAuthenticator().create(publicKey);
  return attemptOf(ids, { token, state, credential, name: 'x' }, {});
}

const manyLinks = fault('too_many_invitations', async ({ ids }: Attempt) => {
  for (let link = 0; link < 3; link += 1) await invite(identity, ids['tenantId'] ?? '');
});
const personFaults = [
  fault('principal_not_found', noMember),
  fault('principal_not_active', pausedPrincipal),
  fault('human_principal_required', ofKind('agent')),
  manyLinks,
];

const orders: CheckOrder[] = [
  {
    endpoint: 'POST /browser-sessions:exchange',
    prepare: () => own(({ token }) => ({ token, audience: 'control-plane', scopes: [readScope] })),
    faults: [
      unknownField,
      ...deadSessions,
      fault('audience_not_allowed', closedAudiences, 'not active'),
      fault('audience_not_allowed', withFields({ audience: 'unknown' }), 'unknown'),
      fault('scope_not_allowed', withFields({ scopes: ['unknown'] })),
    ],
  },
  {
    endpoint: 'POST /browser-sessions:revoke-self',
    prepare: () => own(({ token }) => ({ token })),
    proven: deadSessions,
    faults: [
      unknownField,
      fault('a list', withFields({ reason: 'x'.repeat(201) }), 'reason'),
      ...deadSessions,
    ],
  },
  {
    endpoint: 'POST /browser-sessions:list',
    prepare: () => own(({ token }) => ({ token })),
    proven: deadSessions,
    faults: [unknownField, ...deadSessions],
  },
  {
    endpoint: 'POST /browser-sessions:revoke',
    async prepare() {
      const { token, ids, authenticator } = await prepareIds();
      const { session } = await made(signInWith(identity, authenticator));
      return attemptOf(ids, { token, browserSessionId: session.id }, {});
    },
    proven: deadSessions,
    faults: [
      unknownField,
      ...deadSessions,
      oldSignIn,
      fault('browser_session_not_found', ({ body }) => (body.browserSessionId = randomUUID())),
    ],
  },
  {
    endpoint: 'POST /browser-sessions:revoke-others',
    prepare: () => own(({ token }) => ({ token })),
    proven: deadSessions,
    faults: [
      unknownField,
      fault('a list', withFields({ reason: 'x'.repeat(201) }), 'reason'),
      ...deadSessions,
      oldSignIn,
    ],
  },
  {
    endpoint: 'POST /oauth-grants:list',
    prepare: () => own(({ token }) => ({ token })),
    proven: deadSessions,
    faults: [unknownField, ...deadSessions],
  },
  {
    endpoint: 'POST /oauth-grants:revoke',
    prepare: ownWithGrant,
    proven: deadSessions,
    faults: [
      unknownField,
      ...deadSessions,
      fault('oauth_grant_not_found', ({ body }) => (body.grantId = randomUUID())),
    ],
  },
  {
    endpoint: 'GET /tenants/{tenantId}/principals/{principalId}/browser-sessions',
    prepare: () => prepare(() => undefined),
    proven: tenantFaults,
    faults: [...tenantFaults, malformed('principalId'), fault('principal_not_found', absent('principalId'))],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/principals/{principalId}/browser-sessions/{browserSessionId}:revoke',
    prepare: () => prepare(() => undefined),
    proven: tenantFaults,
    faults: [
      ...tenantFaults,
      malformed('browserSessionId'),
      longReason,
      fault('browser_session_not_found', absent('browserSessionId')),
    ],
  },
  {
    endpoint: 'POST /passkeys:registration-options',
    prepare: () => own(({ token }) => ({ token })),
    proven: deadSessions,
    faults: [unknownField, ...deadSessions, oldSignIn, manyPasskeys],
  },
  {
    endpoint: 'POST /passkeys:register',
    prepare: async () => withCreated(await prepareIds()),
    proven: deadSessions,
    // Only a session that began through a provider gets that far.
    besides: ['identity_disabled'],
    faults: [
      unknownField,
      ...deadSessions,
      oldSignIn,
      fault('passkey_rejected', withFields({ state: 'AAAA' })),
      manyPasskeys,
      fault(
        'passkey_exists',
        ({ ids, body }) =>
          store`update passkeys set credential_id = ${body.credential.id} where id = ${ids['passkeyId']}`,
      ),
    ],
  },
  {
    endpoint: 'POST /passkeys:list',
    prepare: () => own(({ token }) => ({ token })),
    proven: deadSessions,
    faults: [unknownField, ...deadSessions],
  },
  {
    endpoint: 'POST /passkeys:rename',
    prepare: () => own(({ token, ids }) => ({ token, passkeyId: ids.passkeyId, name: 'y' })),
    proven: deadSessions,
    faults: [
      unknownField,
      ...deadSessions,
      oldSignIn,
      fault('passkey_not_found', ({ body }) => (body.passkeyId = randomUUID())),
    ],
  },
  {
    endpoint: 'POST /passkeys:remove',
    prepare: () => own(({ token, ids }) => ({ token, passkeyId: ids.passkeyId })),
    proven: deadSessions,
    faults: [
      unknownField,
      ...deadSessions,
      oldSignIn,
      fault('passkey_not_found', ({ body }) => (body.passkeyId = randomUUID())),
      otherPasskeysGone,
    ],
  },
  {
    endpoint: 'PATCH /tenants/{tenantId}/principals/{principalId}/passkeys/{passkeyId}',
    prepare: () => prepare(() => ({ name: 'y' })),
    proven: tenantFaults,
    faults: passkeyFaults,
  },
  {
    endpoint: 'DELETE /tenants/{tenantId}/principals/{principalId}/passkeys/{passkeyId}',
    prepare: () => prepare(() => undefined),
    faults: [...passkeyFaults, otherPasskeysGone],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/invitations',
    async prepare() {
      const tenantId = await makeTenant(identity);
      const principalId = await makeHuman(identity, tenantId);
      return attemptOf({ tenantId, principalId }, { principalId });
    },
    proven: tenantFaults,
    faults: [
      ...tenantFaults,
      fault('a list', withFields({ expiresInSeconds: 59 }), 'expiry'),
      unknownTenant,
      fault('tenant_not_found', closedTenant, 'not active'),
      ...personFaults,
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/principals/{principalId}/recovery-links',
    async prepare() {
      const tenantId = await makeTenant(identity);
      return attemptOf({ tenantId, principalId: await makeHuman(identity, tenantId) }, {});
    },
    proven: tenantFaults,
    faults: [
      ...tenantFaults,
      malformed('principalId'),
      unknownTenant,
      fault('tenant_not_found', closedTenant, 'not active'),
      ...personFaults,
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/invitations/{invitationId}:revoke',
    async prepare() {
      const tenantId = await makeTenant(identity);
      const { invitation } = await invite(identity, tenantId);
      return attemptOf({ tenantId, invitationId: invitation.id });
    },
    faults: [
      ...adminFaults,
      malformed('tenantId'),
      malformed('invitationId'),
      longReason,
      fault('invitation_not_found', absent('invitationId')),
      fault(
        'invitation_accepted',
        ({ ids }) =>
          store`update invitations set accepted_at = now(), accepted_by = 'passkey' where id = ${ids['invitationId']}`,
      ),
    ],
  },
  {
    endpoint: 'POST /invitations:registration-options',
    async prepare() {
      const { ids } = await prepareIds();
      const { token } = await invite(identity, ids.tenantId, { principalId: ids.principalId });
      return attemptOf(ids, { token }, {});
    },
    faults: [
      unknownField,
      fault('invalid_invitation', withFields({ token: 'nonsense' }), 'no link at all'),
      fault(
        'invalid_invitation',
        ({ ids }) =>
          store`update invitations set expires_at = now() - interval '1 ms' where principal_id = ${ids['principalId']}`,
        'expired',
      ),
      fault('invalid_invitation', pausedPrincipal, 'principal'),
      manyPasskeys,
    ],
  },
];

orderTests(() => identity, orders);
