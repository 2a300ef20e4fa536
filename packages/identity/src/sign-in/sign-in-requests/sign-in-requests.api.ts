import { Uuid } from '@baton/values/wire';
import { externalIdentityLinked } from '../../directory/external-identities/external-identities.events.ts';
import { principalCreated } from '../../directory/principals/principals.events.ts';
import { tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import {
  SignInRefusal,
  SignInRequest,
  signInRequestOf,
  signInRequestPages,
  signInRequestQuery,
} from './sign-in-request.ts';
import { signInRequestAdmitted, signInRequestRefused } from './sign-in-requests.events.ts';
import {
  admitSignInRequest,
  getSignInRequest,
  listSignInRequests,
  refuseSignInRequest,
} from './sign-in-requests.ts';

const requestParams = { ...tenantParam, signInRequestId: Uuid };

export const list = endpoint({
  id: 'listSignInRequests',
  method: 'GET',
  path: '/tenants/{tenantId}/sign-in-requests',
  summary: 'List the requests of unknown people who signed in through a provider, by creation.',
  params: tenantParam,
  query: signInRequestQuery,
  returns: { 200: signInRequestPages.form },
  errors: ['tenant_not_found'],
  handle: ({ params, query }, { db }) => listSignInRequests(db, params.tenantId, query),
});

export const get = endpoint({
  id: 'getSignInRequest',
  method: 'GET',
  path: '/tenants/{tenantId}/sign-in-requests/{signInRequestId}',
  summary: 'Read a sign-in request.',
  params: requestParams,
  returns: { 200: SignInRequest },
  errors: ['sign_in_request_not_found'],
  handle: async ({ params }, { db }) => signInRequestOf(await getSignInRequest(db, params)),
});

export const admit = endpoint({
  id: 'admitSignInRequest',
  method: 'POST',
  path: '/tenants/{tenantId}/sign-in-requests/{signInRequestId}:admit',
  summary: 'Admit a person: create their principal and link their identity, or do neither.',
  description:
    'The principal gets the id in `principalId`. Bind it in coordination first, with `POST /admissions`: identity grants no rights. Repeating the call changes nothing.',
  params: requestParams,
  returns: { 200: SignInRequest },
  errors: [
    'sign_in_request_not_found',
    'sign_in_request_decided',
    'sign_in_request_expired',
    'sign_in_request_outdated',
    'external_identity_conflict',
  ],
  emits: [principalCreated, externalIdentityLinked, signInRequestAdmitted],
  handle: async ({ params }, context) => signInRequestOf(await admitSignInRequest(context, params)),
});

export const refuse = endpoint({
  id: 'refuseSignInRequest',
  method: 'POST',
  path: '/tenants/{tenantId}/sign-in-requests/{signInRequestId}:refuse',
  summary: 'Refuse a person, who cannot make another request for a while.',
  description:
    'The person is not informed. Repeating the call changes nothing and keeps the end of the first refusal.',
  params: requestParams,
  body: SignInRefusal,
  returns: { 200: SignInRequest },
  errors: ['sign_in_request_not_found', 'sign_in_request_decided'],
  emits: [signInRequestRefused],
  example: { reason: 'not of our company', forSeconds: 2_592_000 },
  handle: async ({ params, body }, context) =>
    signInRequestOf(await refuseSignInRequest(context, params, body)),
});

export const signInRequestsApi = [list, get, admit, refuse];
