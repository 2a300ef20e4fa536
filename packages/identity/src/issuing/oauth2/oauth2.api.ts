import { endpoint } from '../context.ts';
import { OauthToken, OauthTokenRequest } from './oauth-token.ts';
import { grantOauthToken } from './oauth2.ts';

export const token = endpoint({
  id: 'grantOauthToken',
  method: 'POST',
  path: '/oauth2/token',
  root: true,
  auth: 'presented',
  summary: 'Get an access token by client credentials, as RFC 6749 has it.',
  description: 'By client_secret_basic or client_secret_post. Errors have the form of RFC 6749.',
  body: OauthTokenRequest,
  form: true,
  returns: { 200: OauthToken },
  secrets: ['access_token'],
  errors: [
    'unsupported_grant_type',
    'invalid_client',
    'audience_not_allowed',
    'scope_not_allowed',
    'rate_limited',
  ],
  transaction: 'none',
  example: {
    grant_type: 'client_credentials',
    client_id: 'iam_sa_0123456789abcdefghijklmn',
    client_secret: 'the-secret-that-was-shown-once',
    audience: 'control-plane',
    scope: 'control-plane:read',
  },
  handle: ({ body }, context) => grantOauthToken(context, body),
});

export const oauth2Api = [token];
