import { timingSafeEqual } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import type { CredentialReads } from '@baton/kernel/limits/concurrency-limit';
import type { Settings } from '../settings.ts';
import { hashOfKey, isEmergencyPrefix, prefixOfKey } from './key-material.ts';
import { findKey, type KeyEntryRow, updateLastUse } from './keys.sql.ts';

/** The reason for rejecting a key: for the log, never for the response. */
export class KeyRefused extends Error {}

const noHash = '0'.repeat(64);

/**
 * Admits an API key. It is read on each request, so revoking it takes effect everywhere at once. See
 * docs/reference/access.md#api-keys.
 * @returns the key with its principal, whose status the caller checks
 * @param reads bounds the number of concurrent reads
 * @throws KeyRefused; Refusal `unavailable` when the queue of reads is full
 */
export async function admitKey(
  reads: CredentialReads,
  db: Db,
  settings: Settings,
  key: string,
): Promise<KeyEntryRow> {
  const prefix = prefixOfKey(key);
  if (prefix === undefined) throw new KeyRefused('key_form');
  const isEmergency = isEmergencyPrefix(prefix);
  if (isEmergency && !settings.CP_BREAK_GLASS_ENABLED) throw new KeyRefused('break_glass_disabled');
  if (!isEmergency && !settings.CP_LEGACY_API_KEYS_ENABLED) throw new KeyRefused('legacy_keys_disabled');

  const refreshSeconds = settings.CP_API_KEY_LAST_USED_REFRESH_SECONDS;
  const entry = await reads(() => db.row(findKey(prefix, refreshSeconds)));
  // The hashes are compared even if the prefix is unknown, so that it takes as long as a wrong secret.
  const matches = timingSafeEqual(Buffer.from(hashOfKey(key)), Buffer.from(entry?.key_hash ?? noHash));
  if (entry === undefined || !matches) throw new KeyRefused('key_unknown');
  if (entry.is_revoked) throw new KeyRefused('key_revoked');
  if (entry.is_over) throw new KeyRefused('key_expired');
  const lifeSecondsMax = settings.CP_BREAK_GLASS_MAX_TTL_SECONDS;
  if (isEmergency && (entry.life_seconds === null || entry.life_seconds > lifeSecondsMax))
    throw new KeyRefused('break_glass_life');
  if (entry.use_is_due && entry.principal_status === 'active')
    await reads(() => db.run(updateLastUse(entry.tenant_id, entry.id, refreshSeconds)));
  return entry;
}
