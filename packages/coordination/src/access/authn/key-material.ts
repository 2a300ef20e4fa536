import { createHash, randomBytes } from 'node:crypto';
import { observer } from '@baton/kernel/process/observer';

/**
 * API keys of this service: `cp_<prefix>_<secret>`, where the prefix finds the row and the secret has 256 random bits.
 * Only the SHA-256 of the whole key is stored, which identity's import of legacy credentials accepts. The prefix of an
 * emergency key begins with `bg`, which isn't a hex prefix.
 */
export interface KeyMaterial {
  /** Shown once, in the response to its creation. */
  readonly key: string;
  readonly prefix: string;
  readonly hash: string;
}

const keyForm = /^cp_(bg[0-9a-f]{10}|[0-9a-f]{12})_.+$/;

export function newKey(kind: 'usual' | 'emergency' = 'usual'): KeyMaterial {
  const prefix =
    kind === 'emergency' ? `bg${randomBytes(5).toString('hex')}` : randomBytes(6).toString('hex');
  const key = `cp_${prefix}_${randomBytes(32).toString('base64url')}`;
  observer()?.made('key of coordination', key);
  return { key, prefix, hash: hashOfKey(key) };
}

/** The prefix of a key; undefined for other text. */
export function prefixOfKey(key: string): string | undefined {
  return keyForm.exec(key)?.[1];
}

export function isEmergencyPrefix(prefix: string): boolean {
  return prefix.startsWith('bg');
}

/** Hex SHA-256 of the whole key. */
export function hashOfKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
