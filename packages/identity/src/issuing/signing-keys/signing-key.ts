import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { calculateJwkThumbprint } from 'jose';
import type { Settings } from '../settings.ts';
import type { JsonWebKey } from './json-web-key.ts';

/** A configured key can't be used: the start ends with this message, and a reload changes nothing. */
export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError';
}

export const modulusBitsMin = 3072;

/** As `kid`, it stands for the key's own thumbprint, so that the key may change without the settings. */
const byThumbprint = 'thumbprint';

/** A parsed key of the key document. */
export interface PublishedKey {
  readonly kid: string;
  readonly publicKey: KeyObject;
  /** RFC 7638, base64url of SHA-256. */
  readonly thumbprint: string;
  readonly jwk: JsonWebKey;
}

export interface SigningKey extends PublishedKey {
  readonly privateKey: KeyObject;
}

/** The keys of the settings: the one that signs, and those that are published beside it (contract, W37). */
export interface ConfiguredKeys {
  readonly signing: SigningKey;
  /** The key that will sign, published before it does. */
  readonly next: PublishedKey | undefined;
  /** The key that signed before: some of its tokens have not expired. */
  readonly previous: PublishedKey | undefined;
}

/**
 * Reads the configured keys; the text of the signing key wins over its file.
 * @returns undefined when no signing key is configured, or its file isn't there (yet)
 * @throws SigningKeyError for a file that can't be read or isn't an RSA key of 3072 bits or more, or two of one name
 */
export async function readConfiguredKeys(settings: Settings): Promise<ConfiguredKeys | undefined> {
  const { IAM_SIGNING_KEY_FILE: file, IAM_SIGNING_PRIVATE_KEY: text } = settings;
  // In one line of an environment file, line ends are written as \n.
  const pem = text?.replaceAll('\\n', '\n') ?? (await readKeyFile(file, 'signing key'));
  const nextPem = await readKeyFile(settings.IAM_SIGNING_NEXT_KEY_FILE, 'next signing key');
  const previousPem = await readKeyFile(settings.IAM_SIGNING_PREVIOUS_KEY_FILE, 'previous signing key');
  if (pem === undefined) return undefined;
  const signing = await parsePrivateKey(pem, settings.IAM_SIGNING_KEY_ID, 'signing key');
  // The private key too: one that can't sign is found now, not when it is to sign.
  const next =
    nextPem === undefined
      ? undefined
      : await parsePrivateKey(nextPem, settings.IAM_SIGNING_NEXT_KEY_ID, 'next signing key');
  const previous =
    previousPem === undefined
      ? undefined
      : await parsePublicKey(previousPem, settings.IAM_SIGNING_PREVIOUS_KEY_ID, 'previous signing key');
  refuseSharedNames([signing, next, previous]);
  return { signing, next, previous };
}

function refuseSharedNames(keys: readonly (PublishedKey | undefined)[]): void {
  const kids = keys.flatMap((key) => key?.kid ?? []);
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
    throw new SigningKeyError(`The ${role} ${file} can not be read.`, { cause: error });
  }
}

async function parsePrivateKey(pem: string, kid: string, role: string): Promise<SigningKey> {
  const privateKey = parsePem(pem, createPrivateKey, `The ${role} is not a private key`);
  return { ...(await describeKey(createPublicKey(privateKey), kid, role)), privateKey };
}

/** The file may hold the public key alone, since the key no longer signs. */
function parsePublicKey(pem: string, kid: string, role: string): Promise<PublishedKey> {
  return describeKey(parsePem(pem, createPublicKey, `The ${role} is not a key`), kid, role);
}

async function describeKey(publicKey: KeyObject, name: string, role: string): Promise<PublishedKey> {
  if (publicKey.asymmetricKeyType !== 'rsa') throw new SigningKeyError(`The ${role} is not an RSA key.`);
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < modulusBitsMin)
    throw new SigningKeyError(`The ${role} has ${bits} bits; it needs ${modulusBitsMin} or more.`);
  const { n, e } = publicKey.export({ format: 'jwk' }) as { n: string; e: string };
  const thumbprint = await calculateJwkThumbprint({ kty: 'RSA', n, e });
  const kid = name === byThumbprint ? thumbprint : name;
  return { kid, publicKey, thumbprint, jwk: { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e } };
}

function parsePem(pem: string, parse: (pem: string) => KeyObject, refusal: string): KeyObject {
  try {
    return parse(pem);
  } catch (error) {
    throw new SigningKeyError(`${refusal} in PEM form without a passphrase.`, { cause: error });
  }
}
