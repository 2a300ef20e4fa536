import type { Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { Settings } from '../settings.ts';
import { type AuditKey, readAuditKey } from './audit-key.ts';
import { startRetention } from './retention.ts';
import { startSealing } from './sealer.ts';

/**
 * Reads the key of the audit record; undefined, with a warning in the log, where the settings name none.
 * @throws AuditKeyError for a file that is no key
 */
export async function openAuditKey(settings: Settings, log: Logger): Promise<AuditKey | undefined> {
  const file = settings.IAM_AUDIT_KEY_FILE;
  if (file !== undefined) return readAuditKey(file);
  log.warn('IAM_AUDIT_KEY_FILE is not set: the audit record is not sealed, and nothing shows a change of it');
  return undefined;
}

/**
 * Seals the audit record and removes what is too old, in the background.
 * @returns what ends both, after the batches under way
 */
export function keepAuditRecord(
  pool: Pool,
  key: AuditKey | undefined,
  settings: Settings,
  log: Logger,
): () => Promise<void> {
  const stopRetention = startRetention({ pool, key, log, days: settings.IAM_AUDIT_RETENTION_DAYS });
  const stopSealing = key === undefined ? async () => undefined : startSealing(pool, key, log);
  return async () => {
    await Promise.all([stopSealing(), stopRetention()]);
  };
}
