import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import { deleteOldRequests } from './sign-in-requests.sql.ts';

const firstMs = 60_000;
const intervalMs = 3_600_000;
const batchRowsMax = 1000;
/** Old requests are deleted, because they contain names and e-mail addresses of people whom nobody admitted. */
const daysKept = 30;

/**
 * Deletes sign-in requests that ended long ago once an hour. @returns a function that stops it, after the present batch
 */
export function startOldRequestSweep(pool: Pool, log: Logger): () => Promise<void> {
  return startJob({
    firstMs,
    intervalMs,
    log,
    failure: 'old sign-in requests could not be deleted',
    work: (stopping) => sweepOldRequests(pool, stopping),
  });
}

export async function sweepOldRequests(pool: Pool, stopping?: AbortSignal): Promise<void> {
  for (let deleted = batchRowsMax; deleted === batchRowsMax && stopping?.aborted !== true; )
    deleted = (await pool.rows(deleteOldRequests(daysKept, batchRowsMax))).length;
}
