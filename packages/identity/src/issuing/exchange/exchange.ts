import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { PresentedSecret } from '../../credentials/platform-access-tokens/platform-access-token.ts';
import { audienceLengthMax, characters, NameSet } from '../../service/fields.ts';

/**
 * The requests and responses of the two exchanges (see docs/reference/tokens.md#exchange and
 * docs/reference/tokens.md#client-credentials).
 */

const AccessToken = {
  accessToken: z.string(),
  tokenType: z.literal('Bearer'),
  expiresIn: z.int().describe('Seconds.'),
};

export const TokenExchangeRequest = z
  .strictObject({
    token: PresentedSecret,
    audience: characters(1, audienceLengthMax),
    scopes: NameSet.default([]).describe('Empty for all scopes that the token allows.'),
  })
  .meta({ id: 'TokenExchangeRequest' });
export type TokenExchangeRequest = z.infer<typeof TokenExchangeRequest>;

export const TokenExchange = z
  .strictObject({ ...AccessToken, audience: z.string(), scope: z.array(z.string()), sessionId: Uuid })
  .meta({ id: 'TokenExchange' });
export type TokenExchange = z.infer<typeof TokenExchange>;

export const clientIdLengthMax = 200;
/** The maximum length; far more than the 43 characters of a secret that we issue. */
export const clientSecretLengthMax = 4000;

export const ClientExchangeRequest = z
  .strictObject({
    clientId: characters(1, clientIdLengthMax),
    clientSecret: characters(1, clientSecretLengthMax),
    audience: characters(1, audienceLengthMax),
    scopes: NameSet.default([]).describe('Exactly these are granted.'),
  })
  .meta({ id: 'ClientExchangeRequest' });
export type ClientExchangeRequest = z.infer<typeof ClientExchangeRequest>;

export const ClientExchange = z.strictObject(AccessToken).meta({ id: 'ClientExchange' });
export type ClientExchange = z.infer<typeof ClientExchange>;
