import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { Settings } from '../settings.ts';
import { type AuditKey, readAuditKey } from './audit-key.ts';
import { startRetention } from './audit-retention.ts';
import { HeadKeeper, headFileOf, readHead } from './head-file.ts';
import { startSealing } from './sealer.ts';

/** The key that seals the audit log, and the last seals. */
export interface AuditMaintenance {
  readonly key: AuditKey | undefined;
  readonly heads: HeadKeeper;
}

/**
 * Reads the key of the audit log and the last head; without a configured key it logs a warning and returns none.
 * @throws AuditKeyError for a file that doesn't contain a key or a head
 */
export async function openAuditMaintenance(settings: Settings, log: Logger): Promise<AuditMaintenance> {
  const [keyFile, headFile] = [settings.IAM_AUDIT_KEY_FILE, headFileOf(settings)];
  if (keyFile !== undefined) {
    const head = headFile === undefined ? undefined : await readHead(headFile);
    return { key: await readAuditKey(keyFile), heads: new HeadKeeper(headFile, head, log) };
  }
  log.warn('IAM_AUDIT_KEY_FILE is not set: the audit log is not sealed, so changes to it cannot be detected');
  return { key: undefined, heads: new HeadKeeper(undefined, undefined, log) };
}

/**
 * Seals the audit log and removes old records in the background. @returns a function that stops both, after their
 * current batches
 */
export function maintainAuditRecord(
  pool: Pool,
  { key, heads }: AuditMaintenance,
  settings: Settings,
  log: Logger,
): () => Promise<void> {
  const stopRetention = startRetention({ pool, key, log, days: settings.IAM_AUDIT_RETENTION_DAYS });
  const stopSealing = key === undefined ? async () => undefined : startSealing(pool, key, heads, log);
  return async () => {
    await Promise.all([stopSealing(), stopRetention()]);
  };
}
