import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { SigningAlgorithm } from '../../directory/audiences/audience.ts';
import type { Settings } from '../settings.ts';
import type { JsonWebKey } from './json-web-key.ts';

/** A configured key can't be used: startup fails with this message, and a reload changes nothing. */
export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError';
}

export const modulusBitsMin = 3072;

/**
 * Used in place of a `kid`, it means the key's own thumbprint, so that the key can be replaced without changing the
 * settings.
 */
const byThumbprint = 'thumbprint';

/** A parsed key of the key document. */
export interface PublishedKey {
  readonly algorithm: SigningAlgorithm;
  readonly kid: string;
  readonly publicKey: KeyObject;
  /** RFC 7638, base64url of SHA-256. */
  readonly thumbprint: string;
  readonly jwk: JsonWebKey;
}

export interface SigningKey extends PublishedKey {
  readonly privateKey: KeyObject;
}

/**
 * The keys of one algorithm: the one that signs, and those that are published in addition (see
 * docs/reference/tokens.md#signing-keys).
 */
export interface KeyRing {
  readonly signing: SigningKey;
  /** The key that will sign next; it is published before it signs. */
  readonly next: SigningKey | undefined;
  /** The key that signed before. Some of its tokens have not expired yet. */
  readonly previous: PublishedKey | undefined;
}

/** The configured keys, RS256 first. */
export type KeyRings = ReadonlyMap<SigningAlgorithm, KeyRing>;

/** The files and names of one algorithm's keys. */
interface KeySource {
  readonly algorithm: SigningAlgorithm;
  /** The signing key itself; it takes precedence over its file. */
  readonly text?: string | undefined;
  readonly file: string | undefined;
  readonly nextFile: string | undefined;
  readonly previousFile: string | undefined;
  readonly kids: { readonly signing: string; readonly next: string; readonly previous: string };
}

function sourcesOf(settings: Settings): readonly KeySource[] {
  const kids = { signing: byThumbprint, next: byThumbprint, previous: byThumbprint };
  return [
    {
      algorithm: 'RS256',
      text: settings.IAM_SIGNING_PRIVATE_KEY,
      file: settings.IAM_SIGNING_KEY_FILE,
      nextFile: settings.IAM_SIGNING_NEXT_KEY_FILE,
      previousFile: settings.IAM_SIGNING_PREVIOUS_KEY_FILE,
      kids: {
        signing: settings.IAM_SIGNING_KEY_ID,
        next: settings.IAM_SIGNING_NEXT_KEY_ID,
        previous: settings.IAM_SIGNING_PREVIOUS_KEY_ID,
      },
    },
    {
      algorithm: 'ES256',
      file: settings.IAM_SIGNING_ES256_KEY_FILE,
      nextFile: settings.IAM_SIGNING_ES256_NEXT_KEY_FILE,
      previousFile: settings.IAM_SIGNING_ES256_PREVIOUS_KEY_FILE,
      kids,
    },
    {
      algorithm: 'EdDSA',
      file: settings.IAM_SIGNING_EDDSA_KEY_FILE,
      nextFile: settings.IAM_SIGNING_EDDSA_NEXT_KEY_FILE,
      previousFile: settings.IAM_SIGNING_EDDSA_PREVIOUS_KEY_FILE,
      kids,
    },
  ];
}

/**
 * Reads the configured keys of every algorithm.
 * @returns undefined when no RS256 key is configured, or its file doesn't exist (yet)
 * @throws SigningKeyError for a file that can't be read or isn't a key of its algorithm, or for two keys with the same
 * name
 */
export async function readConfiguredKeys(settings: Settings): Promise<KeyRings | undefined> {
  const rings = new Map<SigningAlgorithm, KeyRing>();
  for (const source of sourcesOf(settings)) {
    const ring = await readRing(source);
    if (ring !== undefined) rings.set(source.algorithm, ring);
  }
  if (!rings.has('RS256')) return undefined;
  refuseSharedNames(rings);
  return rings;
}

async function readRing(source: KeySource): Promise<KeyRing | undefined> {
  const { algorithm, text, kids } = source;
  const role = algorithm === 'RS256' ? 'signing key' : `${algorithm} signing key`;
  // An environment file has one line per setting, so line ends are written there as \n.
  const pem = text?.replaceAll('\\n', '\n') ?? (await readKeyFile(source.file, role));
  const nextPem = await readKeyFile(source.nextFile, `next ${role}`);
  const previousPem = await readKeyFile(source.previousFile, `previous ${role}`);
  if (pem === undefined) return undefined;
  return {
    signing: await parsePrivateKey(algorithm, pem, kids.signing, role),
    // Also parses the private key, so that an unusable key is detected now and not when it has to sign.
    next:
      nextPem === undefined
        ? undefined
        : await parsePrivateKey(algorithm, nextPem, kids.next, `next ${role}`),
    previous:
      previousPem === undefined
        ? undefined
        : await parsePublicKey(algorithm, previousPem, kids.previous, `previous ${role}`),
  };
}

/** The keys of a ring that are configured, in the order of the key document. */
export function keysOf({ signing, next, previous }: KeyRing): PublishedKey[] {
  return [signing, next, previous].filter((key) => key !== undefined);
}

function refuseSharedNames(rings: KeyRings): void {
  const kids = [...rings.values()].flatMap((ring) => keysOf(ring).map(({ kid }) => kid));
  const shared = kids.find((kid, index) => kids.indexOf(kid) !== index);
  if (shared !== undefined)
    throw new SigningKeyError(`Two of the signing, next and previous keys have the same kid: ${shared}.`);
}

async function readKeyFile(file: string | undefined, role: string): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new SigningKeyError(`The ${role} ${file} cannot be read.`, { cause: error });
  }
}

async function parsePrivateKey(
  algorithm: SigningAlgorithm,
  pem: string,
  kid: string,
  role: string,
): Promise<SigningKey> {
  const privateKey = parsePem(pem, createPrivateKey, `The ${role} is not a private key`);
  return { ...(await describeKey(algorithm, createPublicKey(privateKey), kid, role)), privateKey };
}

/** The key no longer signs, so its file may contain only the public key. */
function parsePublicKey(
  algorithm: SigningAlgorithm,
  pem: string,
  kid: string,
  role: string,
): Promise<PublishedKey> {
  return describeKey(algorithm, parsePem(pem, createPublicKey, `The ${role} is not a key`), kid, role);
}

async function describeKey(
  algorithm: SigningAlgorithm,
  publicKey: KeyObject,
  name: string,
  role: string,
): Promise<PublishedKey> {
  refuseOtherKind(algorithm, publicKey, role);
  const jwk = publicKey.export({ format: 'jwk' }) as JWK;
  const thumbprint = await calculateJwkThumbprint(jwk);
  const kid = name === byThumbprint ? thumbprint : name;
  return { algorithm, kid, publicKey, thumbprint, jwk: jsonWebKeyOf(jwk, kid) };
}

/**
 * @throws SigningKeyError for a key of another algorithm, or a key that is too weak
 */
function refuseOtherKind(algorithm: SigningAlgorithm, publicKey: KeyObject, role: string): void {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = publicKey;
  const not = (what: string) => new SigningKeyError(`The ${role} is not ${what}.`);
  if (algorithm === 'ES256' && !(type === 'ec' && details.namedCurve === 'prime256v1'))
    throw not('a key on the curve P-256');
  if (algorithm === 'EdDSA' && type !== 'ed25519') throw not('an Ed25519 key');
  if (algorithm !== 'RS256') return;
  if (type !== 'rsa') throw not('an RSA key');
  const { modulusLength: bits = 0 } = details;
  if (bits < modulusBitsMin)
    throw new SigningKeyError(`The ${role} has ${bits} bits; it needs ${modulusBitsMin} or more.`);
}

function jsonWebKeyOf({ kty, n = '', e = '', x = '', y = '' }: JWK, kid: string): JsonWebKey {
  if (kty === 'RSA') return { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e };
  if (kty === 'EC') return { kty: 'EC', use: 'sig', alg: 'ES256', kid, crv: 'P-256', x, y };
  return { kty: 'OKP', use: 'sig', alg: 'EdDSA', kid, crv: 'Ed25519', x };
}

function parsePem(pem: string, parse: (pem: string) => KeyObject, refusal: string): KeyObject {
  try {
    return parse(pem);
  } catch (error) {
    throw new SigningKeyError(`${refusal} in PEM form without a passphrase.`, { cause: error });
  }
}
