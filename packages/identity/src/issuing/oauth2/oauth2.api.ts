import { z } from 'zod';
import { endpoint } from '../context.ts';
import { grantToken } from './oauth2.ts';

const OauthRequest = z.object({
  grant_type: z.string().describe('client_credentials'),
  client_id: z.string().optional(),
  client_secret: z.string().optional(),
  audience: z.string().optional().describe('Or `resource`.'),
  resource: z.string().optional(),
  scope: z.string().optional().describe('Separated by spaces; exactly these are granted.'),
});
export type OauthRequest = z.infer<typeof OauthRequest>;

const OauthAnswer = z.strictObject({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int().describe('Seconds.'),
  scope: z.string(),
});
export type OauthAnswer = z.infer<typeof OauthAnswer>;

export const token = endpoint({
  id: 'grantOauthToken',
  method: 'POST',
  path: '/oauth2/token',
  root: true,
  auth: 'presented',
  summary: 'Get an access token by client credentials, as RFC 6749 has it.',
  description: 'By client_secret_basic or client_secret_post. Errors have the form of RFC 6749.',
  body: OauthRequest,
  form: true,
  returns: { 200: OauthAnswer },
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
  handle: ({ body }, context) => grantToken(context, body),
});

export const oauth2Api = [token];
