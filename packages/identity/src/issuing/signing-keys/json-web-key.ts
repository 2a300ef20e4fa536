import { z } from 'zod';

export const JsonWebKey = z
  .strictObject({
    kty: z.literal('RSA'),
    use: z.literal('sig'),
    alg: z.literal('RS256'),
    kid: z.string(),
    n: z.string().describe('The modulus, base64url.'),
    e: z.string().describe('The exponent, base64url.'),
  })
  .meta({ id: 'JsonWebKey' });
export type JsonWebKey = Readonly<z.infer<typeof JsonWebKey>>;

export const JsonWebKeySet = z
  .strictObject({ keys: z.array(JsonWebKey).min(1).max(3) })
  .meta({ id: 'JsonWebKeySet' });
