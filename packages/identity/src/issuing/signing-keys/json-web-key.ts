import { z } from 'zod';

const kid = z.string();
const use = z.literal('sig');
const x = z.string().describe('The point, or its first coordinate, base64url.');

const RsaKey = z.strictObject({
  kty: z.literal('RSA'),
  use,
  alg: z.literal('RS256'),
  kid,
  n: z.string().describe('The modulus, base64url.'),
  e: z.string().describe('The exponent, base64url.'),
});

const EllipticKey = z.strictObject({
  kty: z.literal('EC'),
  use,
  alg: z.literal('ES256'),
  kid,
  crv: z.literal('P-256'),
  x,
  y: z.string().describe('The second coordinate, base64url.'),
});

const EdwardsKey = z.strictObject({
  kty: z.literal('OKP'),
  use,
  alg: z.literal('EdDSA'),
  kid,
  crv: z.literal('Ed25519'),
  x,
});

export const JsonWebKey = z
  .discriminatedUnion('kty', [RsaKey, EllipticKey, EdwardsKey])
  .meta({ id: 'JsonWebKey' });
export type JsonWebKey = Readonly<z.infer<typeof JsonWebKey>>;

/** At most nine keys: the signing, next and previous key of each of three algorithms. */
export const JsonWebKeySet = z
  .strictObject({ keys: z.array(JsonWebKey).min(1).max(9) })
  .meta({ id: 'JsonWebKeySet' });
