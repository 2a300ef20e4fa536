import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
import { characters, NameSet } from '../../service/fields.ts';

export const FederatedSignInRequest = z
  .strictObject({
    identityProvider: characters(1, 120).describe('The key of the identity provider.'),
    token: z
      .string()
      .min(1)
      .max(65_536)
      .describe('An ID token or access token of that provider (a signed JWT).'),
  })
  .meta({ id: 'FederatedSignInRequest' });
export type FederatedSignInRequest = z.infer<typeof FederatedSignInRequest>;

export const FederatedTokenRequest = z
  .strictObject({
    ...FederatedSignInRequest.shape,
    audience: characters(1, 120),
    scopes: NameSet.default([]).describe(
      'Empty for all scopes that the audience allows, except the privileged ones.',
    ),
    withAdmission: z
      .boolean()
      .default(false)
      .describe('Return an admission statement if the provider admits the person by itself.'),
  })
  .meta({ id: 'FederatedTokenRequest' });
export type FederatedTokenRequest = z.infer<typeof FederatedTokenRequest>;

/** The response to a confirmed sign-in. */
export const FederatedSignIn = z
  .strictObject({
    principalId: Uuid,
    identityProvider: z.string(),
    groups: z
      .array(z.string())
      .describe('The groups of this tenant that the person is a member of through this provider.'),
    authenticationContext: z.strictObject({
      acr: z.string().nullable(),
      amr: z.array(z.string()),
      authTime: Timestamp.nullable(),
    }),
    identityProviderStale: z
      .boolean()
      .describe('Whether the provider did not respond and its cached keys were used.'),
  })
  .meta({ id: 'FederatedSignIn' });
export type FederatedSignIn = z.infer<typeof FederatedSignIn>;

export const FederatedToken = z
  .strictObject({
    accessToken: z.string(),
    tokenType: z.literal('Bearer'),
    expiresIn: z.int().describe('Seconds.'),
    audience: z.string(),
    scope: z.array(z.string()),
    sessionId: Uuid,
    admissionStatement: z
      .string()
      .nullable()
      .describe(
        'A signed statement that the provider admits the person, for `POST /admissions:self` of coordination; valid for 60 seconds.',
      ),
    ...FederatedSignIn.shape,
  })
  .meta({ id: 'FederatedToken' });
export type FederatedToken = z.infer<typeof FederatedToken>;
