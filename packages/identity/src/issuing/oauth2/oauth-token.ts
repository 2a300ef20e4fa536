import { z } from 'zod';

/** The form fields of RFC 6749, section 4.4, and the `resource` of RFC 8707. Unknown ones are ignored. */
export const OauthTokenRequest = z
  .object({
    grant_type: z.string().describe('client_credentials'),
    client_id: z.string().optional(),
    client_secret: z.string().optional(),
    audience: z.string().optional().describe('Or `resource`.'),
    resource: z.string().optional(),
    scope: z.string().optional().describe('Separated by spaces; exactly these are granted.'),
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
