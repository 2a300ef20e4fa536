import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { deleteExpiredMails } from '../invitation-mails/send-invitation.ts';
import { deleteOldDeliveries } from './deliveries.sql.ts';
import { deleteOldPauses } from './pauses.sql.ts';

const rowsMax = 1000;
const pauseMs = 60_000;
/** Longer than the longest pause, so that no pause that is still in use is deleted. */
const pauseAgeSeconds = 604_800;

/** Deletes records of old messages and failures, and invitation links that were not sent in time. */
export function deleteOldNotifications({ pool, settings }: JobTools<Context>): Job {
  let nextAt = 0;
  return {
    name: 'notification records',
    batchMax: rowsMax,
    async run() {
      if (performance.now() < nextAt) return 0;
      const deleted = await pool.run(deleteOldDeliveries(settings.CP_NOTIFICATIONS_RECORD_SECONDS, rowsMax));
      const expired = await deleteExpiredMails(pool, rowsMax);
      const pauses = await pool.run(deleteOldPauses(pauseAgeSeconds, rowsMax));
      const most = Math.max(deleted, expired, pauses);
      if (most < rowsMax) nextAt = performance.now() + pauseMs;
      return most;
    },
  };
}
