import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { revokeToken } from '../../directory/revocation/revocation.ts';
import type { AuditKey } from '../../records/audit-chain/audit-key.ts';
import type { AuditDraft, EventDraft } from '../../records/drafts.ts';
import { flushRecords } from '../../records/journal/journal.ts';
import { startJob } from '../../service/background-job.ts';
import { deleteExpiredHandles, findUnredeemedGrants } from './oauth-handles.sql.ts';

const intervalMs = 60_000;
const batchRowsMax = 1000;
/** Fewer, because each writes an event and an audit record. */
const grantsPerBatchMax = 100;
/** A client that polls for an expired code still learns that it has expired. */
const keptSeconds = 3600;

/**
 * Once a minute, ends the grants whose code was never redeemed, and deletes expired codes and refresh tokens. @returns a
 * function that stops it, after the current batch
 */
export function startExpiredHandleSweep(
  pool: Pool,
  auditKey: AuditKey | undefined,
  log: Logger,
): () => Promise<void> {
  return startJob({
    firstMs: intervalMs,
    intervalMs,
    log,
    failure: 'expired codes and refresh tokens could not be deleted',
    work: async (stopping) => {
      await endUnredeemedGrants(pool, auditKey, stopping);
      await sweepExpiredHandles(pool, stopping);
    },
  });
}

export async function sweepExpiredHandles(pool: Pool, stopping?: AbortSignal): Promise<void> {
  for (let deleted = batchRowsMax; deleted === batchRowsMax && stopping?.aborted !== true; )
    deleted = (await pool.rows(deleteExpiredHandles(keptSeconds, batchRowsMax))).length;
}

/**
 * Nobody can use a grant whose code has expired, but it would be listed among the person's connected programs for
 * months, and would count towards their maximum.
 */
export async function endUnredeemedGrants(
  pool: Pool,
  auditKey?: AuditKey,
  stopping?: AbortSignal,
): Promise<void> {
  for (let ended = grantsPerBatchMax; ended === grantsPerBatchMax && stopping?.aborted !== true; )
    ended = await endBatch(pool, auditKey);
}

function endBatch(pool: Pool, auditKey: AuditKey | undefined): Promise<number> {
  return pool.transaction(async (db) => {
    const acting = {
      db,
      auditKey,
      caller: { actor: 'monitor' },
      requestId: 'unredeemed-grants',
      endpoint: 'unredeemed grants',
      events: [] as EventDraft[],
      audits: [] as AuditDraft[],
    };
    const grants = await db.rows(findUnredeemedGrants(grantsPerBatchMax));
    for (const { credential_id: credentialId, tenant_id: tenantId } of grants)
      await revokeToken(acting, { tenantId, credentialId, reason: 'not_redeemed' });
    await flushRecords(acting);
    return grants.length;
  });
}
