import { resolve } from 'node:path';
import type { ContentStore } from '../content-store.ts';
import type { Settings } from '../settings.ts';
import { createFolderStore } from './folder-store.ts';
import { createS3Store } from './s3-store.ts';

/**
 * Opens the configured content store: S3 takes precedence over the folder.
 * @returns undefined if none is configured: uploads are then refused
 */
export function openContentStore(settings: Settings): ContentStore | undefined {
  if (settings.CP_S3_ENDPOINT_URL !== '') return createS3Store(settings);
  const { CP_ARTIFACT_FOLDER: folder } = settings;
  return folder === '' ? undefined : createFolderStore(resolve(folder));
}

/**
 * @throws Error with a one-sentence message, for store settings that would otherwise fail later
 */
export function checkContentSettings(settings: Settings): void {
  const { CP_S3_ENDPOINT_URL: endpoint, CP_S3_BUCKET: bucket } = settings;
  if (endpoint === '') return;
  const { protocol, username, search } = URL.canParse(endpoint) ? new URL(endpoint) : new URL('none:');
  if (!/^https?:$/.test(protocol) || username !== '' || search !== '')
    throw new Error('CP_S3_ENDPOINT_URL must be an http or https address without a user and a query.');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/.test(bucket))
    throw new Error('CP_S3_BUCKET may contain only letters, digits, dots, hyphens and underscores.');
  if (settings.CP_S3_ACCESS_KEY_ID === '' || settings.CP_S3_SECRET_ACCESS_KEY === '')
    throw new Error('CP_S3_ENDPOINT_URL requires CP_S3_ACCESS_KEY_ID and CP_S3_SECRET_ACCESS_KEY.');
}
