import { z } from 'zod';
import { keysMax, parseKeySet } from './key-set.ts';

/** An uploaded JWKS document (RFC 7517), for issuers that identity can't reach. */

const text = (max: number) => z.string().min(1).max(max);
/** The lengths of a modulus of 16,384 bits in base64url, and of a certificate with such a key. */
const [numberLengthMax, certificateLengthMax] = [2800, 16_384];

/** A strict object, so that a document with a private key (`d`) is refused, and never stored. */
const PublicKey = z.strictObject({
  kty: z.enum(['RSA', 'EC', 'OKP']),
  kid: text(200).optional(),
  use: text(40).optional(),
  key_ops: z.array(text(40)).max(10).optional(),
  alg: text(40).optional(),
  n: text(numberLengthMax).optional(),
  e: text(20).optional(),
  crv: text(40).optional(),
  x: text(200).optional(),
  y: text(200).optional(),
  ext: z.boolean().optional(),
  x5u: text(500).optional(),
  x5c: z.array(text(certificateLengthMax)).max(10).optional(),
  x5t: text(200).optional(),
  'x5t#S256': text(200).optional(),
});

/** Stored: only the members that are needed to verify a signature. */
const StoredKey = PublicKey.omit({ ext: true, x5u: true, x5c: true, x5t: true, 'x5t#S256': true });
export const StoredKeySet = z.strictObject({ keys: z.array(StoredKey) });
export type StoredKeySet = z.infer<typeof StoredKeySet>;

const storedNames = Object.keys(StoredKey.shape);

/**
 * What an administrator uploads. SPIFFE bundles have two additional fields, and keys that are only for certificates.
 */
export const KeySetDocument = z
  .strictObject({
    keys: z.array(PublicKey).min(1).max(keysMax),
    spiffe_sequence: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
    spiffe_refresh_hint: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  })
  .refine((document) => {
    const { size, unnamed } = parseKeySet(document);
    return size + unnamed.length > 0;
  }, 'must have a public key that verifies a signature: RSA of 2,048 bits or more, P-256, P-384, P-521 or Ed25519')
  .transform(({ keys }): StoredKeySet => ({ keys: keys.map(storedPart) }));

function storedPart(key: z.infer<typeof PublicKey>): z.infer<typeof StoredKey> {
  const kept = Object.entries(key).filter(([name]) => storedNames.includes(name));
  return Object.fromEntries(kept) as z.infer<typeof StoredKey>;
}
