import { credentialRevoked } from '../../../directory/revocation/credentials.events.ts';
import { endpoint } from '../../context.ts';
import { OwnGrantEnd, OwnGrantList, OwnGrantsRequest } from './own-grant.ts';
import { listOwnGrants, revokeOwnGrant } from './own-grants.ts';

const exampleToken = 'iam_ses_0123456789ab_the-secret-that-was-shown-once';

export const listOwn = endpoint({
  id: 'listOwnOauthGrants',
  method: 'POST',
  path: '/oauth-grants:list',
  auth: 'presented',
  summary: 'List the live grants of the signed-in person to OAuth clients, the newest first.',
  body: OwnGrantsRequest,
  returns: { 200: OwnGrantList },
  errors: ['invalid_token', 'rate_limited'],
  transaction: 'none',
  example: { token: exampleToken },
  handle: ({ body }, context) => listOwnGrants(context, body.token),
});

export const revokeOwn = endpoint({
  id: 'revokeOwnOauthGrant',
  method: 'POST',
  path: '/oauth-grants:revoke',
  auth: 'presented',
  summary: 'End a grant of the signed-in person to an OAuth client. A repetition changes nothing.',
  description: 'Its access tokens are revoked, too.',
  body: OwnGrantEnd,
  returns: { 204: null },
  errors: ['invalid_token', 'oauth_grant_not_found', 'rate_limited'],
  emits: [credentialRevoked],
  transaction: 'none',
  example: { token: exampleToken, grantId: '5f0a7d2e-3b64-4c1c-9d43-0f6f1f1d2a11' },
  handle: ({ body }, context) => revokeOwnGrant(context, body),
});

export const ownGrantsApi = [listOwn, revokeOwn];
