import type { Db } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import { findLastEpoch } from './epoch.sql.ts';

const lookEveryMs = 5000;

export function logEpoch(log: Logger, reason: string | undefined | null): void {
  if (reason === undefined || reason === null) return;
  if (reason === 'restart')
    log.info('the database server was restarted: numbers of the journal continue above all earlier ones');
  else
    log.warn(
      { reason },
      'the database was restored, or runs in another cluster than before: numbers of the journal continue above all earlier ones',
    );
}

/**
 * Notices and logs new epochs, because with a pooler a command's own statement starts the epoch.
 * @returns a function that stops it
 */
export function watchEpochs(db: Db, log: Logger): () => Promise<void> {
  let known: number | undefined;
  return startJob({
    firstMs: 0,
    intervalMs: lookEveryMs,
    log,
    failure: 'the epoch of the journal could not be read',
    async work() {
      const last = await db.row(findLastEpoch());
      const epochs = last?.epochs ?? 0;
      if (known !== undefined && epochs > known) logEpoch(log, last?.reason);
      known = epochs;
    },
  });
}
