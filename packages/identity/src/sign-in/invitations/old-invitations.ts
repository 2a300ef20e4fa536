import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import { deleteOldInvitations } from './invitations.sql.ts';

const firstMs = 60_000;
const intervalMs = 3_600_000;
const batchRowsMax = 1000;
/** Old links are deleted, because they contain e-mail addresses and messages. */
const daysKept = 90;

/** Deletes links that ended long ago once an hour. @returns a function that stops it, after the present batch */
export function startOldInvitationSweep(pool: Pool, log: Logger): () => Promise<void> {
  return startJob({
    firstMs,
    intervalMs,
    log,
    failure: 'old invitations could not be deleted',
    work: (stopping) => sweepOldInvitations(pool, stopping),
  });
}

export async function sweepOldInvitations(pool: Pool, stopping?: AbortSignal): Promise<void> {
  // Runs until nothing is left, because an accepted link is deleted only after the person's other links.
  for (let deleted = 1; deleted > 0 && stopping?.aborted !== true; )
    deleted = (await pool.rows(deleteOldInvitations(daysKept, batchRowsMax))).length;
}
