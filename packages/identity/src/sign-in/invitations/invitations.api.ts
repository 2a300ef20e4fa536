import { Uuid } from '@baton/values/wire';
import { externalIdentityLinked } from '../../directory/external-identities/external-identities.events.ts';
import {
  groupCreated,
  groupMembershipAdded,
  groupMembershipRemoved,
} from '../../directory/groups/groups.events.ts';
import { principalCreated, principalEnabled } from '../../directory/principals/principals.events.ts';
import { browserSessionRevoked } from '../../directory/revocation/browser-sessions.events.ts';
import { invitationRevoked } from '../../directory/revocation/invitations.events.ts';
import { principalParams, Reason, tenantParam } from '../../service/fields.ts';
import { StartedSession } from '../browser-sessions/browser-session.ts';
import { browserSessionStarted } from '../browser-sessions/browser-sessions.events.ts';
import { endpoint } from '../context.ts';
import { PasskeyOptions } from '../passkeys/passkey.ts';
import { passkeyRegistered, passkeyRemoved } from '../passkeys/passkeys.events.ts';
import { acceptInvitation, invitationPasskeyOptions, readInvitation } from './acceptance.ts';
import {
  Invitation,
  InvitationAcceptance,
  InvitationRequest,
  IssuedInvitation,
  invitationOf,
  invitationPages,
  invitationQuery,
  NewInvitation,
  NewRecoveryLink,
  OpenInvitation,
} from './invitation.ts';
import { invitationAccepted, invitationCreated } from './invitations.events.ts';
import {
  createInvitation,
  createRecoveryLink,
  getInvitation,
  listInvitations,
  revokeInvitation,
} from './invitations.ts';

const invitationParams = { ...tenantParam, invitationId: Uuid };
const exampleToken = 'iam_inv_0123456789ab_the-secret-of-the-link';

const refusals = [
  'tenant_not_found',
  'principal_not_found',
  'principal_not_active',
  'human_principal_required',
  'too_many_invitations',
] as const;

export const create = endpoint({
  id: 'createInvitation',
  method: 'POST',
  path: '/tenants/{tenantId}/invitations',
  summary: 'Invite a person; the secret of the one-time link is shown once.',
  description:
    'A new person is paused until they accept. `role` is stored and shown; identity grants no rights for it. Earlier links of the person are revoked.',
  params: tenantParam,
  body: NewInvitation,
  returns: { 201: IssuedInvitation },
  secrets: ['token'],
  errors: refusals,
  emits: [principalCreated, invitationRevoked, invitationCreated],
  example: { displayName: 'Maria Lopez', email: 'maria@example.com', role: 'member', invitedBy: 'Ana Ruiz' },
  handle: ({ params, body }, context) => createInvitation(context, params.tenantId, body),
});

export const createRecovery = endpoint({
  id: 'createRecoveryLink',
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}/recovery-links',
  summary: 'Make a one-time link with which a person adds a passkey; its secret is shown once.',
  description: 'For somebody who lost their passkeys. Earlier links of the person are revoked.',
  params: principalParams,
  body: NewRecoveryLink,
  returns: { 201: IssuedInvitation },
  secrets: ['token'],
  errors: refusals,
  emits: [invitationRevoked, invitationCreated],
  example: { expiresInSeconds: 3600 },
  handle: ({ params, body }, context) =>
    createRecoveryLink(context, params.tenantId, params.principalId, body),
});

export const list = endpoint({
  id: 'listInvitations',
  method: 'GET',
  path: '/tenants/{tenantId}/invitations',
  summary: 'List the invitations and recovery links of a tenant by creation.',
  params: tenantParam,
  query: invitationQuery,
  returns: { 200: invitationPages.form },
  errors: ['tenant_not_found'],
  handle: ({ params, query }, { db }) => listInvitations(db, params.tenantId, query),
});

export const get = endpoint({
  id: 'getInvitation',
  method: 'GET',
  path: '/tenants/{tenantId}/invitations/{invitationId}',
  summary: 'Read an invitation or recovery link; its secret is never shown again.',
  params: invitationParams,
  returns: { 200: Invitation },
  errors: ['invitation_not_found'],
  handle: async ({ params }, { db }) =>
    invitationOf(await getInvitation(db, params.tenantId, params.invitationId)),
});

export const revoke = endpoint({
  id: 'revokeInvitation',
  isEmergency: true,
  method: 'POST',
  path: '/tenants/{tenantId}/invitations/{invitationId}:revoke',
  summary: 'Revoke a link. Repeating the call changes nothing and keeps the first reason.',
  params: invitationParams,
  query: { reason: Reason.default('revoked') },
  returns: { 204: null },
  errors: ['invitation_not_found', 'invitation_accepted'],
  emits: [invitationRevoked],
  handle: ({ params, query }, context) => revokeInvitation(context, { ...params, reason: query.reason }),
});

export const read = endpoint({
  id: 'readInvitation',
  method: 'POST',
  path: '/invitations:read',
  auth: 'presented',
  summary: 'Read the invitation or recovery link that is presented.',
  body: InvitationRequest,
  returns: { 200: OpenInvitation },
  errors: ['invalid_invitation', 'rate_limited'],
  transaction: 'none',
  example: { token: exampleToken },
  handle: ({ body }, context) => readInvitation(context, body.token),
});

export const registrationOptions = endpoint({
  id: 'getInvitationPasskeyOptions',
  method: 'POST',
  path: '/invitations:registration-options',
  auth: 'presented',
  summary: 'Get the options with which a browser creates the passkey of the person who accepts a link.',
  body: InvitationRequest,
  returns: { 200: PasskeyOptions },
  errors: ['invalid_invitation', 'too_many_passkeys', 'rate_limited'],
  transaction: 'none',
  example: { token: exampleToken },
  handle: ({ body }, context) => invitationPasskeyOptions(context, body.token),
});

export const accept = endpoint({
  id: 'acceptInvitation',
  method: 'POST',
  path: '/invitations:accept',
  auth: 'presented',
  summary: 'Accept a link with a new passkey, or by signing in through a provider of the tenant.',
  description:
    'Begins a browser session, whose secret is shown once. All of it is stored, or nothing is; of parallel acceptances of one link, only one succeeds.',
  body: InvitationAcceptance,
  // An ID token from a provider that lists many groups needs more space than other bodies from strangers.
  bodyBytesMax: 65_536,
  returns: { 200: StartedSession },
  secrets: ['token'],
  errors: [
    'invalid_invitation',
    'passkey_rejected',
    'identity_provider_not_found',
    'identity_provider_unavailable',
    'invalid_token',
    'unsupported_algorithm',
    'unknown_signing_key',
    'invalid_signature',
    'token_expired',
    'invalid_issuer',
    'invalid_audience',
    'missing_subject_claim',
    'step_up_required',
    'claim_not_allowed',
    'external_identity_conflict',
    'identity_disabled',
    'too_many_passkeys',
    'passkey_exists',
    'rate_limited',
  ],
  emits: [
    principalEnabled,
    passkeyRemoved,
    browserSessionRevoked,
    passkeyRegistered,
    externalIdentityLinked,
    groupCreated,
    groupMembershipAdded,
    groupMembershipRemoved,
    invitationAccepted,
    browserSessionStarted,
  ],
  transaction: 'none',
  example: { token: exampleToken, federation: { identityProvider: 'corporate', token: 'an ID token' } },
  handle: ({ body }, context) => acceptInvitation(context, body),
});

export const invitationsApi = [create, createRecovery, list, get, revoke, read, registrationOptions, accept];
