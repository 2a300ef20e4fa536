import { type Db, isUnreachable, type Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import { isBlamable } from '../../service/blamable.ts';
import type { AuditKey } from './audit-key.ts';
import {
  deleteSealed,
  deleteUnsealed,
  findAnySeal,
  findInstantBefore,
  insertRemoval,
  lockRemoving,
  setRemovalAllowed,
} from './audit-retention.sql.ts';
import { auditedTenants } from './audited-tenants.ts';
import { chainStart, isGenuineRemoval, linkHmac, recordsProblem, removalHmac } from './chain.ts';
import { findContents, findLastRemoval, findSeal, findSealsAfter } from './seals.sql.ts';

/** The number of links whose records are removed in one transaction: 16 links seal up to 4,096 records. */
const linksPerBatchMax = 16;
const recordsPerBatchMax = 4096;
const firstMs = 5000;
const intervalMs = 3_600_000;

interface Removing {
  readonly pool: Pool;
  readonly key: AuditKey | undefined;
  readonly log: Logger;
  readonly days: number;
  /** Stops after the current batch. */
  readonly stopping?: AbortSignal;
}

/**
 * Removes audit records that are older than `days` (see docs/reference/audit.md#retention-of-the-audit-log). Sealed
 * records are removed by whole links, oldest first and only while the links are intact. The links themselves remain,
 * and a mark made with the key proves that identity removed the records. Sealed records are never removed without the
 * key.
 * @returns the number of removed records
 */
export async function removeOldAudits(removing: Removing): Promise<number> {
  const { pool, key, log, days } = removing;
  const keptSince = (await pool.row(findInstantBefore(days)))?.kept_since as string;
  if (key === undefined) {
    if ((await pool.row(findAnySeal()))?.is_sealed !== true) return removeUnsealed(removing, keptSince);
    log.warn('the audit log is sealed: without IAM_AUDIT_KEY_FILE nothing is removed from it');
    return 0;
  }
  return eachTenant(removing, (tenantId) => removeFromChain({ ...removing, key }, tenantId, keptSince));
}

/**
 * Runs separately for each tenant, so that a tenant whose records can't be removed doesn't prevent the removal for
 * others.
 */
async function eachTenant(
  { pool, log, stopping }: Removing,
  remove: (tenantId: string) => Promise<number>,
): Promise<number> {
  let removed = 0;
  for await (const tenantId of auditedTenants(pool)) {
    if (stopping?.aborted === true) break;
    try {
      removed += await remove(tenantId);
    } catch (err) {
      if (isUnreachable(err)) throw err;
      log.error({ err, tenantId }, 'old audit records of the tenant could not be removed');
    }
  }
  return removed;
}

/** Removes records of all tenants in one statement, provided that the database refuses none of them. */
async function removeUnsealed(removing: Removing, keptSince: string): Promise<number> {
  try {
    return await removeByAge(removing, keptSince, null);
  } catch (error) {
    if (!isBlamable(error)) throw error;
    return eachTenant(removing, (tenantId) => removeByAge(removing, keptSince, tenantId));
  }
}

async function removeByAge(
  { pool, stopping }: Removing,
  keptSince: string,
  tenantId: string | null,
): Promise<number> {
  for (let removed = 0; ; ) {
    const batch = await pool.transaction(async (tx) => {
      if ((await tx.row(lockRemoving()))?.held !== true) return 0;
      await tx.run(setRemovalAllowed(keptSince));
      return tx.run(deleteUnsealed(keptSince, recordsPerBatchMax, tenantId));
    });
    removed += batch;
    if (batch < recordsPerBatchMax || stopping?.aborted === true) return removed;
  }
}

async function removeFromChain(
  removing: Removing & { key: AuditKey },
  tenantId: string,
  keptSince: string,
): Promise<number> {
  for (let removed = 0; ; ) {
    const { links, records } = await removing.pool.transaction((tx) =>
      removeLinks(tx, removing, tenantId, keptSince),
    );
    removed += records;
    if (links < linksPerBatchMax || removing.stopping?.aborted === true) return removed;
  }
}

/** Removes the records of a chain's next links that are old enough. */
async function removeLinks(
  tx: Db,
  { key, log }: Removing & { key: AuditKey },
  tenantId: string,
  keptSince: string,
): Promise<{ links: number; records: number }> {
  const nothing = { links: 0, records: 0 };
  if ((await tx.row(lockRemoving()))?.held !== true) return nothing;
  const removal = await tx.row(findLastRemoval(tenantId));
  const position = removal?.position ?? chainStart.position;
  const start = await tx.row(findSeal(tenantId, position));
  if (removal?.key_id === key.id && !isGenuineRemoval(key, tenantId, removal, start)) {
    log.error(
      { tenantId, position },
      'the mark of removed audit records was not written by identity: nothing more is removed',
    );
    return nothing;
  }
  const links = await tx.rows(findSealsAfter(tenantId, position, linksPerBatchMax));
  const kept = links.findIndex(({ occurred_to }) => occurred_to >= keptSince);
  const old = kept < 0 ? links : links.slice(0, kept);
  const last = old.at(-1);
  if (last === undefined) return nothing;
  const after = start?.last_sequence ?? 0;
  const ranges = old.map(({ tenant_id, last_sequence, records }, index) => ({
    tenant_id,
    after: old[index - 1]?.last_sequence ?? after,
    through: last_sequence,
    records,
  }));
  const contents = await tx.rows(findContents(ranges));
  const broken = old.find((link, index) => {
    const content = contents[index];
    // If a link was made with an earlier key, the link itself can't be checked, only its records.
    const isForged = link.key_id === key.id && linkHmac(key, link) !== link.hmac;
    return isForged || content === undefined || recordsProblem(link, content) !== undefined;
  });
  if (broken !== undefined) {
    log.error(
      { tenantId, position: broken.position },
      'the audit log is broken here: nothing from here on is removed; run baton identity audit verify',
    );
    return nothing;
  }
  await tx.run(setRemovalAllowed(keptSince));
  const records = await tx.run(deleteSealed(tenantId, after, last.last_sequence));
  const hmac = removalHmac(key, tenantId, last);
  await tx.run(insertRemoval({ tenantId, position: last.position, hmac, keyId: key.id }));
  return { links: old.length, records };
}

/**
 * Removes old records once an hour, if retention is configured.
 * @returns a function that stops it, after the current batch
 */
export function startRetention(removing: Removing): () => Promise<void> {
  if (removing.days === 0) return async () => undefined;
  return startJob({
    firstMs,
    intervalMs,
    log: removing.log,
    failure: 'old audit records could not be removed',
    async work(stopping) {
      await removeOldAudits({ ...removing, stopping });
    },
  });
}
