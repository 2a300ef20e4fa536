import { requireAddress } from '../access-tokens/service-tokens/own-account.ts';
import { fail } from '../errors.ts';
import type { Settings } from '../settings.ts';
import { createOutsideStore } from './outside-store.ts';
import { createSealedStore } from './sealed-store.ts';
import { readSealingKeys } from './sealing-keys.ts';
import type { SecretStore } from './secret-store.ts';

/**
 * Opens the configured store; an external store takes precedence over the table of encrypted values.
 * @throws Error with one sentence for a file without keys
 */
export function openSecretStore(settings: Settings): SecretStore {
  if (settings.CP_SECRET_STORE_URL !== '') return createOutsideStore(settings);
  const { CP_SECRET_STORE_KEY_FILE: file } = settings;
  return file === '' ? noSecretStore : createSealedStore(readSealingKeys(file));
}

const none = async () => fail('secret_store_unavailable', {}, { reason: 'no secret store is configured' });

/** The store that is used if none is configured. */
const noSecretStore: SecretStore = {
  kind: 'none',
  put: none,
  delete: none,
  apply: none,
  get: none,
  exists: none,
};

/** @throws Error with one sentence for store settings that would otherwise fail only later */
export function checkSecretStoreSettings(settings: Settings): void {
  const { CP_SECRET_STORE_URL: url, CP_SECRET_STORE_TOKEN: token, CP_SECRET_STORE_MOUNT: mount } = settings;
  if (url === '') return;
  requireAddress('CP_SECRET_STORE_URL', url);
  if (token === undefined || !/^[\x21-\x7e]+$/.test(token))
    throw new Error('CP_SECRET_STORE_URL requires CP_SECRET_STORE_TOKEN, without blanks.');
  if (!/^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+){0,4}$/.test(mount))
    throw new Error('CP_SECRET_STORE_MOUNT must be a path of letters, digits, hyphens and underscores.');
}
