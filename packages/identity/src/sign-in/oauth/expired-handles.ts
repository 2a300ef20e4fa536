import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import { deleteExpiredHandles } from './oauth-handles.sql.ts';

const intervalMs = 60_000;
const batchRowsMax = 1000;
/** A client that polls for an expired code still learns that it has expired. */
const keptSeconds = 3600;

/**
 * Deletes expired codes and refresh tokens once a minute. @returns a function that stops it, after the current batch
 */
export function startExpiredHandleSweep(pool: Pool, log: Logger): () => Promise<void> {
  return startJob({
    firstMs: intervalMs,
    intervalMs,
    log,
    failure: 'expired codes and refresh tokens could not be deleted',
    work: (stopping) => sweepExpiredHandles(pool, stopping),
  });
}

export async function sweepExpiredHandles(pool: Pool, stopping?: AbortSignal): Promise<void> {
  for (let deleted = batchRowsMax; deleted === batchRowsMax && stopping?.aborted !== true; )
    deleted = (await pool.rows(deleteExpiredHandles(keptSeconds, batchRowsMax))).length;
}
