import { reply } from '@baton/kernel/http/service';
import { credentialRevoked } from '../../directory/revocation/credentials.events.ts';
import { endpoint } from '../context.ts';
import { introspectOauthToken } from './oauth-introspection.ts';
import { admitRevocation, revokeOauthToken } from './oauth-revocation.ts';
import {
  AuthorizationServerMetadata,
  OauthIntrospection,
  OauthToken,
  OauthTokenQuery,
  OauthTokenRequest,
} from './oauth-token.ts';
import { grantOauthToken } from './oauth2.ts';
import { describeServer, metadataPath } from './server-metadata.ts';

const clientExample = {
  client_id: 'iam_sa_0123456789abcdefghijklmn',
  client_secret: 'the-secret-that-was-shown-once',
};
const tokenExample = 'iam_pat_0123456789ab_the-secret-that-was-shown-once';

export const metadata = endpoint({
  id: 'getAuthorizationServerMetadata',
  method: 'GET',
  path: metadataPath,
  root: true,
  auth: 'none',
  summary: 'Read the metadata of the authorization server (RFC 8414).',
  description: "Also served at this path followed by the issuer's path, as the standard requires.",
  looseQuery: true,
  returns: { 200: AuthorizationServerMetadata },
  handle: (_input, { settings }) =>
    reply(200, describeServer(settings), { 'cache-control': 'public, max-age=60' }),
});

export const token = endpoint({
  id: 'grantOauthToken',
  method: 'POST',
  path: '/oauth2/token',
  root: true,
  auth: 'presented',
  summary:
    'Get an access token: with client credentials, with a grant from a person (RFC 6749, RFC 8628), for a platform access token (RFC 8693), or for a token of a workload (RFC 7523).',
  description:
    'Clients authenticate with client_secret_basic or client_secret_post; a token exchange and an assertion need no client authentication. Clients of people are public: they send their `client_id`. `resource` (RFC 8707) may replace `audience`. Errors have the format of RFC 6749.',
  body: OauthTokenRequest,
  form: true,
  returns: { 200: OauthToken },
  secrets: ['access_token', 'refresh_token'],
  errors: [
    'unsupported_grant_type',
    'invalid_client',
    'invalid_token',
    'invalid_assertion',
    'invalid_grant',
    'authorization_pending',
    'slow_down',
    'expired_token',
    'access_denied',
    'audience_not_allowed',
    'scope_not_allowed',
    'rate_limited',
  ],
  // Emitted for a grant whose code or refresh token is used again.
  emits: [credentialRevoked],
  transaction: 'none',
  example: {
    grant_type: 'client_credentials',
    ...clientExample,
    audience: 'control-plane',
    scope: 'control-plane:read',
  },
  handle: ({ body }, context) => grantOauthToken(context, body),
});

export const introspect = endpoint({
  id: 'introspectOauthToken',
  method: 'POST',
  path: '/oauth2/introspect',
  root: true,
  auth: 'presented',
  summary: 'Check whether an access token or a platform access token is valid (RFC 7662).',
  description:
    'A service account sees the tokens of its tenant for one of its audiences; for everything else the response is `{"active": false}`.',
  body: OauthTokenQuery,
  form: true,
  returns: { 200: OauthIntrospection },
  errors: ['invalid_client', 'rate_limited'],
  transaction: 'none',
  example: { ...clientExample, token: tokenExample },
  handle: async ({ body }, context) =>
    reply(200, await introspectOauthToken(context, body), { 'cache-control': 'no-store' }),
});

export const revoke = endpoint({
  id: 'revokeOauthToken',
  method: 'POST',
  path: '/oauth2/revoke',
  root: true,
  auth: 'presented',
  summary:
    'Revoke a platform access token or a refresh token (RFC 7009). An unknown token gets the same response.',
  description:
    'The holder of a token may revoke it; a refresh token ends with its grant and all its access tokens; client credentials are validated if they are sent. An access token cannot be revoked by itself: it expires, or is revoked with the credential that it was exchanged for.',
  body: OauthTokenQuery,
  form: true,
  returns: { 200: null },
  errors: ['invalid_client', 'unsupported_token_type', 'rate_limited'],
  emits: [credentialRevoked],
  example: { token: tokenExample },
  async around({ body }, { context, command }) {
    await admitRevocation(context, body);
    return command(undefined);
  },
  handle: ({ body }, context) => revokeOauthToken(context, body),
});

export const oauth2Api = [metadata, token, introspect, revoke];
