import { hkdfSync } from 'node:crypto';
import { readKeyFile, type SealingKeys, sealingKeys } from '../../access/secret-store/sealing-keys.ts';
import type { Settings } from '../settings.ts';
import { keyFileOf } from '../unsubscribe/unsubscribe-links.ts';

const opened = new WeakMap<object, SealingKeys | undefined>();

/**
 * Separate keys, derived from the file that also contains the keys for the links in e-mails; the file is read once per
 * process.
 */
export function mailSealOf(settings: Settings): SealingKeys | undefined {
  if (!opened.has(settings)) opened.set(settings, readSeal(settings));
  return opened.get(settings);
}

function readSeal(settings: Settings): SealingKeys | undefined {
  const file = keyFileOf(settings);
  if (file === '') return undefined;
  const keys = readKeyFile(file, 'CP_NOTIFICATIONS_KEY_FILE');
  return sealingKeys(
    keys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'invitation mails of Baton', 32))),
  );
}

/** A sealed link can't be moved to another person or tenant. */
export const placeOf = (tenantId: string, principalId: string): string => `${tenantId}/${principalId}`;
