import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';

/** A public key of an identity provider. */
export interface UpstreamKey {
  readonly key: KeyObject;
  /** The only algorithm of the key, if the provider restricts it. */
  readonly alg: string | undefined;
}

/** Public keys by `kid`. */
export interface KeySet extends ReadonlyMap<string, UpstreamKey> {
  /** The keys without a `kid`. */
  readonly unnamed: readonly UpstreamKey[];
}

class ParsedKeySet extends Map<string, UpstreamKey> implements KeySet {
  readonly unnamed: UpstreamKey[] = [];
}

/** A key document that is malformed or has too many keys. */
export class KeyDocumentError extends Error {
  override readonly name = 'KeyDocumentError';
}

export const keysMax = 100;
const modulusBitsMin = 2048;
/** Larger keys are not used in practice and would make verification too expensive. */
const modulusBitsMax = 16_384;
const exponentMax = 2n ** 32n;

/** The accepted algorithms, and the key type with which each is verified: a curve, or RSA. */
const keyTypes: ReadonlyMap<string, string> = new Map([
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((alg) => [alg, 'rsa'] as const),
  ['ES256', 'prime256v1'],
  ['ES384', 'secp384r1'],
  ['ES512', 'secp521r1'],
  ['EdDSA', 'ed25519'],
  // The same algorithm under the name of its curve (RFC 9864).
  ['Ed25519', 'ed25519'],
]);

export function isAcceptedAlgorithm(alg: unknown): alg is string {
  return typeof alg === 'string' && keyTypes.has(alg);
}

/**
 * The key that a token is verified with: the one with the token's `kid`. A provider with one key often omits the `kid`:
 * if the token has none, or no key has one, it is the only key of the set that matches the algorithm.
 */
export function selectKey(keys: KeySet, kid: string | undefined, alg: string): UpstreamKey | undefined {
  if (kid !== undefined && keys.size > 0) return keys.get(kid);
  const fitting = [...keys.values(), ...keys.unnamed].filter((key) => isFor(key, alg) && fits(key, alg));
  return fitting.length === 1 ? fitting[0] : undefined;
}

/** Whether the key may be used with this algorithm. */
export function isFor({ alg: only }: UpstreamKey, alg: string): boolean {
  const isEdwards = (name: string) => keyTypes.get(name) === 'ed25519';
  return only === undefined || only === alg || (isEdwards(only) && isEdwards(alg));
}

function fits({ key }: UpstreamKey, alg: string): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  return keyTypes.get(alg) === (type === 'ec' ? details?.namedCurve : type);
}

/**
 * Reads a key document (RFC 7517). Keys that must not verify a signature are left out: symmetric keys, keys for
 * encryption, weak keys, unknown types, and a `kid` that is not a string. If two keys have the same `kid`, both are
 * left out.
 * @throws KeyDocumentError
 */
export function parseKeySet(document: unknown): KeySet {
  const keys = (document as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys)) throw new KeyDocumentError('the key document has no list of keys');
  if (keys.length > keysMax) throw new KeyDocumentError(`the key document has more than ${keysMax} keys`);
  const found = new ParsedKeySet();
  const seen = new Set<string>();
  for (const jwk of keys as unknown[]) {
    const kid = nameOf(jwk);
    if (kid === undefined) continue;
    const key = kid !== null && seen.has(kid) ? undefined : parseKey(jwk as JsonWebKey);
    if (kid === null) {
      if (key !== undefined) found.unnamed.push(key);
      continue;
    }
    seen.add(kid);
    if (key === undefined) found.delete(kid);
    else found.set(kid, key);
  }
  return found;
}

/** The `kid` of a key; null if it has none, undefined if it isn't a key or its `kid` is malformed. */
function nameOf(jwk: unknown): string | null | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined;
  if (!('kid' in jwk)) return null;
  return typeof jwk.kid === 'string' && jwk.kid !== '' ? jwk.kid : undefined;
}

function parseKey(jwk: JsonWebKey): UpstreamKey | undefined {
  const { kty, use, key_ops: operations, alg, n, e, crv, x, y } = jwk as Record<string, unknown>;
  // SPIFFE marks the keys of its tokens with `jwt-svid`.
  const isForSignatures = use === undefined || use === 'sig' || use === 'jwt-svid';
  const verifies = operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
  if (!isForSignatures || !verifies) return undefined;
  if (alg !== undefined && typeof alg !== 'string') return undefined;
  try {
    // Only the public members are used, whatever else was published.
    if (kty === 'RSA') return ifStrong({ key: importKey({ kty, n, e }), alg });
    if (kty === 'EC') return { key: importKey({ kty, crv, x, y }), alg };
    if (kty === 'OKP' && crv === 'Ed25519') return { key: importKey({ kty, crv, x }), alg };
  } catch {
    return undefined;
  }
  return undefined;
}

function importKey(jwk: Record<string, unknown>): KeyObject {
  return createPublicKey({ key: jwk, format: 'jwk' });
}

/**
 * With an exponent of 1, a padded hash is its own signature, so anyone could forge a signature. An RSA modulus is never
 * even.
 */
function ifStrong(found: UpstreamKey): UpstreamKey | undefined {
  const { modulusLength = 0, publicExponent = 0n } = found.key.asymmetricKeyDetails ?? {};
  const lastByte = Buffer.from(found.key.export({ format: 'jwk' }).n as string, 'base64url').at(-1) ?? 0;
  const isLong = modulusLength >= modulusBitsMin && modulusLength <= modulusBitsMax;
  const isExponent = publicExponent >= 3n && publicExponent <= exponentMax && publicExponent % 2n === 1n;
  return isLong && isExponent && lastByte % 2 === 1 ? found : undefined;
}
