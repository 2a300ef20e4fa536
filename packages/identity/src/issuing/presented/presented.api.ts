import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { credentialRevoked } from '../../directory/revocation/credentials.events.ts';
import { limitFailures } from '../../credentials/failure-limits/failure-limits.ts';
import { characters, NameSet, Reason } from '../../service/fields.ts';
import { PrincipalKind } from '../../directory/principals/principal.ts';
import { parsePresentedToken } from '../../service/secrets.ts';
import { endpoint } from '../context.ts';
import { exchangeToken, introspectToken, revokePresentedToken } from './presented.ts';

const Token = z.string().min(1).describe('The secret of a platform access token, or an imported key.');
const names = z.array(z.string());
const exampleToken = 'iam_pat_0123456789ab_the-secret-that-was-shown-once';

const ExchangeRequest = z.strictObject({
  token: Token,
  audience: characters(1, 120),
  scopes: NameSet.default([]).describe('Empty: everything that the token may have.'),
});
export type ExchangeRequest = z.infer<typeof ExchangeRequest>;

export const exchange = endpoint({
  id: 'exchangePlatformAccessToken',
  method: 'POST',
  path: '/platform-access-tokens:exchange',
  auth: 'presented',
  summary: 'Exchange a token for a short-lived access token of one audience.',
  body: ExchangeRequest,
  returns: {
    200: z.strictObject({
      accessToken: z.string(),
      tokenType: z.literal('Bearer'),
      expiresIn: z.int().describe('Seconds.'),
      audience: z.string(),
      scope: names,
      sessionId: Uuid,
    }),
  },
  errors: ['invalid_token', 'audience_not_allowed', 'scope_not_allowed', 'rate_limited'],
  transaction: 'none',
  example: { token: exampleToken, audience: 'control-plane', scopes: ['control-plane:read'] },
  handle: ({ body }, context) =>
    limitFailures(context, publicPartOf(body.token), () => exchangeToken(context, body)),
});

export const introspect = endpoint({
  id: 'introspectPlatformAccessToken',
  method: 'POST',
  path: '/platform-access-tokens:introspect',
  auth: 'presented',
  summary: 'Ask what a token is. Its last use stays as it was.',
  body: z.strictObject({ token: Token }),
  returns: {
    200: z.strictObject({
      tenantId: Uuid,
      principalId: Uuid,
      principalKind: PrincipalKind,
      displayName: z.string(),
      credentialId: Uuid,
      name: z.string(),
      publicPrefix: z.string(),
      audiences: names,
      scopeCeiling: names,
      expiresAt: Timestamp,
      issuedAt: Timestamp,
    }),
  },
  errors: ['invalid_token', 'rate_limited'],
  transaction: 'none',
  example: { token: exampleToken },
  handle: ({ body }, context) =>
    limitFailures(context, publicPartOf(body.token), () => introspectToken(context, body.token)),
});

export const revokeSelf = endpoint({
  id: 'revokeOwnPlatformAccessToken',
  method: 'POST',
  path: '/platform-access-tokens:revoke-self',
  auth: 'presented',
  summary: 'Revoke the token that is presented.',
  body: z.strictObject({ token: Token, reason: Reason.default('logout') }),
  returns: { 204: null },
  errors: ['invalid_token', 'rate_limited'],
  emits: [credentialRevoked],
  example: { token: exampleToken },
  handle: ({ body }, context) =>
    limitFailures(context, publicPartOf(body.token), () =>
      revokePresentedToken(context, body.token, body.reason),
    ),
});

function publicPartOf(token: string): string | undefined {
  const presented = parsePresentedToken(token);
  return presented && `${presented.kind}:${presented.publicPrefix}`;
}

export const presentedTokensApi = [exchange, introspect, revokeSelf];
