import { z } from 'zod';
import { audienceLengthMax, characters, NameSet } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { exchangeClientCredentials } from './tokens.ts';

const ClientExchangeRequest = z.strictObject({
  clientId: characters(1, 200),
  clientSecret: z.string().min(1),
  audience: characters(1, audienceLengthMax),
  scopes: NameSet.default([]).describe('Exactly these are granted.'),
});
export type ClientExchangeRequest = z.infer<typeof ClientExchangeRequest>;

export const exchange = endpoint({
  id: 'exchangeClientCredentials',
  method: 'POST',
  path: '/tokens/exchange',
  auth: 'presented',
  summary: 'Exchange client credentials for a short-lived access token of one audience.',
  body: ClientExchangeRequest,
  returns: {
    200: z.strictObject({
      accessToken: z.string(),
      tokenType: z.literal('Bearer'),
      expiresIn: z.int().describe('Seconds.'),
    }),
  },
  errors: ['invalid_client', 'audience_not_allowed', 'scope_not_allowed', 'rate_limited'],
  transaction: 'none',
  example: {
    clientId: 'iam_sa_0123456789abcdefghijklmn',
    clientSecret: 'the-secret-that-was-shown-once',
    audience: 'control-plane',
    scopes: ['control-plane:read'],
  },
  handle: ({ body }, context) => exchangeClientCredentials(context, body),
});

export const tokensApi = [exchange];
