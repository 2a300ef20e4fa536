import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { SealedValue } from './secret-store.ts';

/** The keys of a file: the first one encrypts, each decrypts its own values. */
export interface SealingKeys {
  /** The id of the encrypting key. */
  readonly currentId: string;
  /** @param place the location of the value, which is required to decrypt it */
  seal(value: string, place: string): SealedValue;
  /** @throws CannotOpen */
  open(value: SealedValue, place: string): string;
}

/** No key in the file decrypts a value: its key was removed, or the row was changed or moved. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';
}

const cipher = 'aes-256-gcm';
const [keyBytes, nonceBytes, tagBytes, keysMax] = [32, 12, 16, 16];

/**
 * Reads a file with one key per line, each of 32 random bytes in base64; blank lines and lines that start with `#` are
 * ignored.
 * @throws Error with one sentence that quotes nothing from the file
 */
export function readSealingKeys(file: string): SealingKeys {
  return sealingKeys(readKeyFile(file, 'CP_SECRET_STORE_KEY_FILE'));
}

/**
 * Reads the keys in a key file.
 * @param setting the setting that names the file, for errors
 * @throws Error with one sentence that quotes nothing from the file
 */
export function readKeyFile(file: string, setting: string): Buffer[] {
  const lines = readText(file, setting)
    .split('\n')
    .map((line) => line.trim());
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#')).map(keyIn);
  if (keys.length === 0 || keys.length > keysMax || keys.some((key) => key?.length !== keyBytes))
    throw new Error(
      `The file of ${setting} must have 1 to ${keysMax} lines of 32 random bytes in base64, as created by \`openssl rand -base64 32\`.`,
    );
  return keys as Buffer[];
}

function readText(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Error(`The file of ${setting} cannot be read.`, { cause });
  }
}

/** Decodes base64 in either alphabet; returns undefined for other text, which a lenient decoder would truncate. */
function keyIn(line: string): Buffer | undefined {
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(line) ? Buffer.from(line, 'base64') : undefined;
}

/** @param keys one or more keys of 32 bytes each */
export function sealingKeys(keys: readonly Buffer[]): SealingKeys {
  const byId = new Map(keys.map((key) => [idOf(key), key]));
  const current = keys[0] as Buffer;
  const currentId = idOf(current);
  return {
    currentId,
    seal(value, place) {
      const nonce = randomBytes(nonceBytes);
      const sealing = createCipheriv(cipher, current, nonce).setAAD(Buffer.from(place));
      const text = Buffer.concat([sealing.update(value, 'utf8'), sealing.final()]);
      return { keyId: currentId, sealed: Buffer.concat([nonce, text, sealing.getAuthTag()]) };
    },
    open({ keyId, sealed }, place) {
      const key = byId.get(keyId);
      if (key === undefined) throw new CannotOpen(`no key ${keyId} in the file`);
      if (sealed.length < nonceBytes + tagBytes) throw new CannotOpen('a truncated value');
      const opening = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      });
      opening.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(-tagBytes));
      try {
        const text = opening.update(sealed.subarray(nonceBytes, -tagBytes));
        return Buffer.concat([text, opening.final()]).toString('utf8');
      } catch (cause) {
        throw new CannotOpen('a value that was changed or moved', { cause });
      }
    },
  };
}

/** The id of a key: the first bytes of its SHA-256, which reveal nothing about a random 256-bit key. */
function idOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}
