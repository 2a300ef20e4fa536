import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { calculateJwkThumbprint } from 'jose';
import type { Settings } from '../config.ts';

/** The signing key can't be used: the start ends with this sentence. */
export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError';
}

export const modulusBitsMin = 3072;

/** A parsed key with everything that is made of it once. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  /** RFC 7638, base64url of SHA-256: names the key without telling it. */
  readonly thumbprint: string;
  readonly jwks: { readonly keys: readonly PublicJwk[] };
  readonly jwksTag: string;
}

export interface PublicJwk {
  readonly kty: 'RSA';
  readonly use: 'sig';
  readonly alg: 'RS256';
  readonly kid: string;
  readonly n: string;
  readonly e: string;
}

/**
 * Reads the configured key; the text wins over the file.
 * @returns undefined when none is configured, or the file isn't there (yet)
 * @throws SigningKeyError for a file that can't be read or isn't an RSA key of 3072 bits or more
 */
export async function readSigningKey(settings: Settings): Promise<SigningKey | undefined> {
  const { IAM_SIGNING_KEY_FILE: file, IAM_SIGNING_PRIVATE_KEY: text } = settings;
  // One line of an environment file writes its line ends as \n.
  const pem = text?.replaceAll('\\n', '\n') ?? (file === undefined ? undefined : await readKeyFile(file));
  return pem === undefined ? undefined : parseSigningKey(pem, settings.IAM_SIGNING_KEY_ID);
}

async function readKeyFile(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new SigningKeyError(`The signing key ${file} can not be read.`, { cause: error });
  }
}

async function parseSigningKey(pem: string, kid: string): Promise<SigningKey> {
  const privateKey = parsePem(pem);
  if (privateKey.asymmetricKeyType !== 'rsa') throw new SigningKeyError('The signing key is not an RSA key.');
  const bits = privateKey.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < modulusBitsMin)
    throw new SigningKeyError(`The signing key has ${bits} bits; it needs ${modulusBitsMin} or more.`);
  const { n, e } = createPublicKey(privateKey).export({ format: 'jwk' }) as { n: string; e: string };
  const jwks = { keys: [{ kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e }] } as const;
  return {
    kid,
    privateKey,
    thumbprint: await calculateJwkThumbprint({ kty: 'RSA', n, e }),
    jwks,
    jwksTag: `"${createHash('sha256').update(JSON.stringify(jwks)).digest('base64url').slice(0, 22)}"`,
  };
}

function parsePem(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new SigningKeyError('The signing key is not a private key in PEM form without a passphrase.', {
      cause: error,
    });
  }
}
