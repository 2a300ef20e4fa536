import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import { deleteOldSessions } from './browser-sessions.sql.ts';

const firstMs = 90_000;
const intervalMs = 3_600_000;
const batchRowsMax = 1000;
const daysKept = 30;

/** Once an hour, deletes sessions that expired long ago. @returns a function that stops it, after the current batch */
export function startOldSessionSweep(pool: Pool, log: Logger): () => Promise<void> {
  return startJob({
    firstMs,
    intervalMs,
    log,
    failure: 'old browser sessions could not be deleted',
    work: (stopping) => sweepOldSessions(pool, stopping),
  });
}

export async function sweepOldSessions(pool: Pool, stopping?: AbortSignal): Promise<void> {
  for (let deleted = batchRowsMax; deleted === batchRowsMax && stopping?.aborted !== true; )
    deleted = (await pool.rows(deleteOldSessions(daysKept, batchRowsMax))).length;
}
