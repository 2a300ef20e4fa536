import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';

/** A public key of an identity provider. */
export interface UpstreamKey {
  readonly key: KeyObject;
  /** The only algorithm it is for, where the provider says so. */
  readonly alg: string | undefined;
}

/** Public keys by `kid`. */
export type KeySet = ReadonlyMap<string, UpstreamKey>;

/** A key document that is malformed or has too many keys. */
export class KeyDocumentError extends Error {
  override readonly name = 'KeyDocumentError';
}

const keysMax = 100;
const modulusBitsMin = 2048;
/** Larger keys would make a verification too expensive; none in use comes near. */
const modulusBitsMax = 16_384;
const exponentMax = 2n ** 32n;

/**
 * Reads a key document (RFC 7517). Keys that must not verify a signature are left out: symmetric keys, keys
 * for encryption, keys without a `kid`, weak keys, unknown types. If two keys have the same `kid`, both are left out.
 * @throws KeyDocumentError
 */
export function parseKeySet(document: unknown): KeySet {
  const keys = (document as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys)) throw new KeyDocumentError('the key document has no list of keys');
  if (keys.length > keysMax) throw new KeyDocumentError(`the key document has more than ${keysMax} keys`);
  const found = new Map<string, UpstreamKey>();
  const seen = new Set<string>();
  for (const jwk of keys as unknown[]) {
    const kid = nameOf(jwk);
    if (kid === undefined) continue;
    const key = seen.has(kid) ? undefined : parseKey(jwk as JsonWebKey);
    seen.add(kid);
    if (key === undefined) found.delete(kid);
    else found.set(kid, key);
  }
  return found;
}

function nameOf(jwk: unknown): string | undefined {
  const { kid } = (jwk ?? {}) as { kid?: unknown };
  return typeof kid === 'string' && kid !== '' ? kid : undefined;
}

function parseKey(jwk: JsonWebKey): UpstreamKey | undefined {
  const { kty, use, key_ops: operations, alg, n, e, crv, x, y } = jwk as Record<string, unknown>;
  const isForSignatures = use === undefined || use === 'sig';
  const verifies = operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
  if (!isForSignatures || !verifies) return undefined;
  if (alg !== undefined && typeof alg !== 'string') return undefined;
  try {
    // Only the public members are used, whatever else was published.
    if (kty === 'RSA') return ifStrong({ key: importKey({ kty, n, e }), alg });
    if (kty === 'EC') return { key: importKey({ kty, crv, x, y }), alg };
  } catch {
    return undefined;
  }
  return undefined;
}

function importKey(jwk: Record<string, unknown>): KeyObject {
  return createPublicKey({ key: jwk, format: 'jwk' });
}

/** With an exponent of 1, a padded hash is its own signature, so anybody could make one. An RSA modulus is never even. */
function ifStrong(found: UpstreamKey): UpstreamKey | undefined {
  const { modulusLength = 0, publicExponent = 0n } = found.key.asymmetricKeyDetails ?? {};
  const lastByte = Buffer.from(found.key.export({ format: 'jwk' }).n as string, 'base64url').at(-1) ?? 0;
  const isLong = modulusLength >= modulusBitsMin && modulusLength <= modulusBitsMax;
  const isExponent = publicExponent >= 3n && publicExponent <= exponentMax && publicExponent % 2n === 1n;
  return isLong && isExponent && lastByte % 2 === 1 ? found : undefined;
}
