import { Uuid } from '@baton/values/wire';
import { externalIdentityLinked } from '../../directory/external-identities/external-identities.events.ts';
import { browserSessionRevoked } from '../../directory/revocation/browser-sessions.events.ts';
import { principalParams } from '../../service/fields.ts';
import { SessionRequest, StartedSession } from '../browser-sessions/browser-session.ts';
import { browserSessionStarted } from '../browser-sessions/browser-sessions.events.ts';
import { endpoint } from '../context.ts';
import {
  OwnPasskeyChange,
  OwnPasskeyRequest,
  OwnRegistration,
  Passkey,
  PasskeyChange,
  PasskeyList,
  PasskeyOptions,
  PasskeySignInRequest,
  passkeyOf,
  removalQuery,
} from './passkey.ts';
import { passkeySignInOptions, signInByPasskey } from './passkey-sign-in.ts';
import { passkeyRegistered, passkeyRemoved, passkeyUpdated } from './passkeys.events.ts';
import {
  listOwnPasskeys,
  listPasskeys,
  removeOwnPasskey,
  removePasskey,
  renameOwnPasskey,
  renamePasskey,
} from './passkeys.ts';
import { ownRegistrationOptions, registerOwnPasskey } from './registration.ts';

const passkeyParams = { ...principalParams, passkeyId: Uuid };
const exampleToken = 'iam_ses_0123456789ab_the-secret-that-was-shown-once';
const exampleState = 'the-state-of-the-options';
const examplePasskeyId = '5f0a7d2e-3b64-4c1c-9d43-0f6f1f1d2a11';
const exampleId = 'AbCdEfGhIjKlMnOpQrStUv';

export const signInOptions = endpoint({
  id: 'getPasskeySignInOptions',
  method: 'POST',
  path: '/passkeys:sign-in-options',
  auth: 'none',
  summary: 'Get the options with which a browser requests a passkey.',
  description: 'The person chooses among the passkeys that the device finds, so no name or e-mail is needed.',
  returns: { 200: PasskeyOptions },
  transaction: 'none',
  handle: (_input, context) => passkeySignInOptions(context),
});

export const signIn = endpoint({
  id: 'signInByPasskey',
  method: 'POST',
  path: '/passkeys:sign-in',
  auth: 'presented',
  summary: 'Sign in with a passkey: begins a browser session, whose secret is shown once.',
  description: 'For 300 seconds it also allows issuing platform access tokens.',
  body: PasskeySignInRequest,
  returns: { 200: StartedSession },
  secrets: ['token'],
  errors: ['invalid_passkey', 'rate_limited'],
  emits: [browserSessionStarted, browserSessionRevoked],
  // The response is verified first, without a transaction.
  transaction: 'none',
  example: {
    state: exampleState,
    credential: {
      id: exampleId,
      rawId: exampleId,
      type: 'public-key',
      response: {
        clientDataJSON: 'e30',
        authenticatorData: 'AAAA',
        signature: 'AAAA',
        userHandle: 'AAAA',
      },
    },
  },
  handle: ({ body }, context) => signInByPasskey(context, body),
});

export const registrationOptions = endpoint({
  id: 'getPasskeyRegistrationOptions',
  method: 'POST',
  path: '/passkeys:registration-options',
  auth: 'presented',
  summary: 'Get the options with which a browser creates another passkey of the signed-in person.',
  description: 'The sign-in must be recent, as for issuing a platform access token.',
  body: SessionRequest,
  returns: { 200: PasskeyOptions },
  errors: ['invalid_token', 'authentication_context_expired', 'too_many_passkeys', 'rate_limited'],
  transaction: 'none',
  example: { token: exampleToken },
  handle: ({ body }, context) => ownRegistrationOptions(context, body.token),
});

export const register = endpoint({
  id: 'registerPasskey',
  method: 'POST',
  path: '/passkeys:register',
  auth: 'presented',
  summary: 'Add the passkey that the browser has created to the signed-in person.',
  body: OwnRegistration,
  returns: { 201: Passkey },
  errors: [
    'invalid_token',
    'authentication_context_expired',
    'passkey_rejected',
    'too_many_passkeys',
    'identity_disabled',
    'passkey_exists',
    'rate_limited',
  ],
  emits: [externalIdentityLinked, passkeyRegistered],
  transaction: 'none',
  example: {
    token: exampleToken,
    state: exampleState,
    name: 'Laptop',
    credential: {
      id: exampleId,
      rawId: exampleId,
      type: 'public-key',
      response: { clientDataJSON: 'e30', attestationObject: 'AAAA' },
    },
  },
  handle: async ({ body }, context) => passkeyOf(await registerOwnPasskey(context, body)),
});

export const listOwn = endpoint({
  id: 'listOwnPasskeys',
  method: 'POST',
  path: '/passkeys:list',
  auth: 'presented',
  summary: 'List the passkeys of the signed-in person.',
  body: SessionRequest,
  returns: { 200: PasskeyList },
  errors: ['invalid_token', 'rate_limited'],
  transaction: 'none',
  example: { token: exampleToken },
  handle: ({ body }, context) => listOwnPasskeys(context, body.token),
});

export const renameOwn = endpoint({
  id: 'renameOwnPasskey',
  method: 'POST',
  path: '/passkeys:rename',
  auth: 'presented',
  summary: 'Rename a passkey of the signed-in person.',
  description: 'The sign-in must be recent, as for issuing a platform access token.',
  body: OwnPasskeyChange,
  returns: { 200: Passkey },
  errors: ['invalid_token', 'authentication_context_expired', 'passkey_not_found', 'rate_limited'],
  emits: [passkeyUpdated],
  transaction: 'none',
  example: { token: exampleToken, passkeyId: examplePasskeyId, name: 'Phone' },
  handle: async ({ body }, context) => passkeyOf(await renameOwnPasskey(context, body)),
});

export const removeOwn = endpoint({
  id: 'removeOwnPasskey',
  method: 'POST',
  path: '/passkeys:remove',
  auth: 'presented',
  summary: 'Remove a passkey of the signed-in person, and end the sessions that it began.',
  description:
    'The sign-in must be recent, as for issuing a platform access token. The last passkey is kept unless the person can sign in through an identity provider.',
  body: OwnPasskeyRequest,
  returns: { 204: null },
  errors: [
    'invalid_token',
    'authentication_context_expired',
    'passkey_not_found',
    'last_passkey',
    'rate_limited',
  ],
  emits: [passkeyRemoved, browserSessionRevoked],
  transaction: 'none',
  example: { token: exampleToken, passkeyId: examplePasskeyId },
  handle: ({ body }, context) => removeOwnPasskey(context, body),
});

export const list = endpoint({
  id: 'listPasskeys',
  method: 'GET',
  path: '/tenants/{tenantId}/principals/{principalId}/passkeys',
  summary: 'List the passkeys of a person.',
  params: principalParams,
  returns: { 200: PasskeyList },
  errors: ['principal_not_found'],
  handle: ({ params }, context) => listPasskeys(context, params.tenantId, params.principalId),
});

export const rename = endpoint({
  id: 'renamePasskey',
  method: 'PATCH',
  path: '/tenants/{tenantId}/principals/{principalId}/passkeys/{passkeyId}',
  summary: 'Rename a passkey; the same name changes nothing.',
  params: passkeyParams,
  body: PasskeyChange,
  returns: { 200: Passkey },
  errors: ['passkey_not_found'],
  emits: [passkeyUpdated],
  example: { name: 'Phone' },
  handle: async ({ params, body }, context) => passkeyOf(await renamePasskey(context, params, body.name)),
});

export const remove = endpoint({
  id: 'removePasskey',
  isEmergency: true,
  method: 'DELETE',
  path: '/tenants/{tenantId}/principals/{principalId}/passkeys/{passkeyId}',
  summary: 'Remove a passkey, and end the sessions that it began.',
  params: passkeyParams,
  query: removalQuery,
  returns: { 204: null },
  errors: ['passkey_not_found', 'last_passkey'],
  emits: [passkeyRemoved, browserSessionRevoked],
  handle: ({ params, query }, context) => removePasskey(context, params, query.withLast),
});

export const passkeysApi = [
  signInOptions,
  signIn,
  registrationOptions,
  register,
  listOwn,
  renameOwn,
  removeOwn,
  list,
  rename,
  remove,
];
