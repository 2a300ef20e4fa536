import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { deleteExpiredMails } from '../invitation-mails/send-invitation.ts';
import { deleteOldDeliveries } from './deliveries.sql.ts';

const rowsMax = 1000;
const pauseMs = 60_000;

/** Deletes the record of what was sent long ago, and links of invitations that were not sent in time. */
export function deleteOldNotifications({ pool, settings }: JobTools<Context>): Job {
  let nextAt = 0;
  return {
    name: 'notification records',
    batchMax: rowsMax,
    async run() {
      if (performance.now() < nextAt) return 0;
      const deleted = await pool.run(deleteOldDeliveries(settings.CP_NOTIFICATIONS_RECORD_SECONDS, rowsMax));
      const expired = await deleteExpiredMails(pool, rowsMax);
      if (deleted < rowsMax && expired < rowsMax) nextAt = performance.now() + pauseMs;
      return Math.max(deleted, expired);
    },
  };
}
