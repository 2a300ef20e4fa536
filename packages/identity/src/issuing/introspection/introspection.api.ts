import { credentialRevoked } from '../../directory/revocation/credentials.events.ts';
import { endpoint } from '../context.ts';
import { Introspection, IntrospectionRequest, SelfRevocation } from './introspection.ts';
import { introspectPlatformAccessToken, revokeOwnPlatformAccessToken } from './presented-tokens.ts';

const exampleToken = 'iam_pat_0123456789ab_the-secret-that-was-shown-once';

export const introspect = endpoint({
  id: 'introspectPlatformAccessToken',
  method: 'POST',
  path: '/platform-access-tokens:introspect',
  auth: 'presented',
  summary: 'Introspect a token, without changing its last use.',
  body: IntrospectionRequest,
  returns: { 200: Introspection },
  errors: ['invalid_token', 'rate_limited'],
  transaction: 'none',
  example: { token: exampleToken },
  handle: ({ body }, context) => introspectPlatformAccessToken(context, body.token),
});

export const revokeSelf = endpoint({
  id: 'revokeOwnPlatformAccessToken',
  method: 'POST',
  path: '/platform-access-tokens:revoke-self',
  auth: 'presented',
  summary: 'Revoke the token that is presented.',
  body: SelfRevocation,
  returns: { 204: null },
  errors: ['invalid_token', 'rate_limited'],
  emits: [credentialRevoked],
  example: { token: exampleToken },
  handle: ({ body }, context) => revokeOwnPlatformAccessToken(context, body.token, body.reason),
});

export const introspectionApi = [introspect, revokeSelf];
