import { createHash, createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Seals the audit record. The database never sees it, so whoever owns the database can't forge a seal. */
export interface AuditKey {
  /** Says in a seal which key made it: the start of the key's SHA-256. */
  readonly id: string;
  readonly secret: Buffer;
}

const keyLengthMin = 32;

/** The file can't serve as a key; one sentence that never shows what it holds. */
export class AuditKeyError extends Error {
  override readonly name = 'AuditKeyError';
}

/**
 * Reads a key from a file; white space around it counts for nothing.
 * @throws AuditKeyError for a file that can't be read or is too short to be a key
 */
export async function readAuditKey(file: string): Promise<AuditKey> {
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new AuditKeyError('The file of the audit key (IAM_AUDIT_KEY_FILE) can not be read.', { cause });
  }
  if (text.length < keyLengthMin)
    throw new AuditKeyError(
      `The audit key (IAM_AUDIT_KEY_FILE) has less than ${keyLengthMin} characters: fill the file with random text.`,
    );
  return {
    id: createHash('sha256').update(text).digest('hex').slice(0, 16),
    secret: Buffer.from(text),
  };
}

/** HMAC-SHA-256 of a list; as JSON, so that no two lists look the same. In hexadecimal. */
export function hmacOf({ secret }: AuditKey, parts: readonly (string | number)[]): string {
  return createHmac('sha256', secret).update(JSON.stringify(parts)).digest('hex');
}

export function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
