import { z } from 'zod';
import { audienceLengthMax } from '../../service/fields.ts';
import { clientIdLengthMax, clientSecretLengthMax } from '../exchange/exchange.ts';

/** Dozens of scopes of the longest form, 120 characters. */
const scopeLengthMax = 10_000;

/** The form fields of RFC 6749, section 4.4, and the `resource` of RFC 8707. Unknown ones are ignored. */
export const OauthTokenRequest = z
  .object({
    grant_type: z.string().max(200).describe('client_credentials'),
    client_id: z.string().max(clientIdLengthMax).optional(),
    client_secret: z.string().max(clientSecretLengthMax).optional(),
    audience: z.string().max(audienceLengthMax).optional().describe('Or `resource`.'),
    resource: z.string().max(audienceLengthMax).optional(),
    scope: z
      .string()
      .max(scopeLengthMax)
      .optional()
      .describe('Separated by spaces; exactly these are granted.'),
  })
  .meta({ id: 'OauthTokenRequest' });
export type OauthTokenRequest = z.infer<typeof OauthTokenRequest>;

export const OauthToken = z
  .strictObject({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().describe('Seconds.'),
    scope: z.string(),
  })
  .meta({ id: 'OauthToken' });
export type OauthToken = z.infer<typeof OauthToken>;
