import { createCipheriv, createDecipheriv, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import type { Context } from '../../context.ts';

/**
 * Authorization requests have no row: they are sealed and kept by the browser, so that strangers can begin any number
 * of them (see docs/reference/oauth.md#requests). The keys are derived from the signing key, which every process has
 * and the database doesn't.
 */

type WithKeys = Pick<Context, 'signingKeys'>;

/** A sealed text for one purpose is not accepted for another. */
type Purpose = 'request' | 'decision';

const algorithm = 'aes-256-gcm';
const [ivBytes, tagBytes] = [12, 16];
const info = 'authorization requests of Baton';
const keyBytes = 32;
/** For a sealed request, in base64url. A decision contains its request, and is therefore longer. */
export const sealedLengthMax = 12_000;

const derivedKeys = new WeakMap<KeyObject, Map<string, Buffer>>();

export function seal({ signingKeys }: WithKeys, purpose: Purpose, content: object): string {
  const [key] = signingKeys.sharedKeys();
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, derivedKeyOf(key as KeyObject, info), iv).setAAD(
    Buffer.from(purpose),
  );
  const sealed = Buffer.concat([cipher.update(JSON.stringify(content)), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
}

/**
 * @returns undefined for a text that was not sealed for this purpose by one of our processes
 */
export function unseal<Content>(
  { signingKeys }: WithKeys,
  purpose: Purpose,
  text: string,
): Content | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (text.length > 2 * sealedLengthMax || bytes.length <= ivBytes + tagBytes) return undefined;
  for (const key of signingKeys.sharedKeys()) {
    const decipher = createDecipheriv(algorithm, derivedKeyOf(key, info), bytes.subarray(0, ivBytes))
      .setAAD(Buffer.from(purpose))
      .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const opened = [decipher.update(bytes.subarray(ivBytes + tagBytes))];
    try {
      opened.push(decipher.final());
    } catch {
      // The text was sealed with another key.
      continue;
    }
    return JSON.parse(Buffer.concat(opened).toString()) as Content;
  }
  return undefined;
}

/**
 * Keys for another purpose, derived from the same signing keys: the first one is used, the others are still accepted.
 */
export function deriveKeys({ signingKeys }: WithKeys, purpose: string): Buffer[] {
  return signingKeys.sharedKeys().map((key) => derivedKeyOf(key, purpose));
}

function derivedKeyOf(key: KeyObject, purpose: string): Buffer {
  const known = derivedKeys.get(key) ?? new Map<string, Buffer>();
  derivedKeys.set(key, known);
  let derived = known.get(purpose);
  if (derived === undefined) {
    const secret = key.export({ type: 'pkcs8', format: 'der' });
    derived = Buffer.from(hkdfSync('sha256', secret, '', purpose, keyBytes));
    known.set(purpose, derived);
  }
  return derived;
}
