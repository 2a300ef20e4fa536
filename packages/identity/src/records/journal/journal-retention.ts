import type { Db, Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { startJob } from '../../service/background-job.ts';
import { findSettledSequence } from './journal.sql.ts';
import {
  deleteEvents,
  findLastOldEvent,
  lockFloor,
  setRemovalAllowed,
  updateFloor,
} from './journal-retention.sql.ts';

/** The number of events that are removed in one transaction of a few milliseconds, for which readers don't wait. */
const eventsPerBatchMax = 1000;
const intervalMs = 600_000;

interface Removing {
  readonly pool: Pool;
  readonly log: Logger;
  /** 0 keeps the journal forever. */
  readonly days: number;
}

/**
 * Removes events that are older than `days`, oldest first (see docs/reference/audit.md#journal). Readers below the last
 * removed event get 410. Several processes may run this; a lock lets only one remove events at a time.
 * @returns the number of removed events
 */
async function removeOldEvents({ pool, days }: Removing, stopping: AbortSignal): Promise<number> {
  for (let removed = 0; ; ) {
    const batch = await pool.transaction((tx) => removeBatch(tx, days));
    removed += batch;
    if (batch === 0 || stopping.aborted) return removed;
  }
}

async function removeBatch(tx: Db, days: number): Promise<number> {
  const locked = await tx.row(lockFloor());
  if (locked === undefined) return 0;
  const settled = (await tx.row(findSettledSequence()))?.settled ?? 0;
  const old = await tx.row(findLastOldEvent(locked.floor, settled, days, eventsPerBatchMax));
  if (old === undefined || old.through === null) return 0;
  await tx.run(setRemovalAllowed(old.kept_since));
  await tx.run(updateFloor(old.through));
  return tx.run(deleteEvents(locked.floor, old.through));
}

/**
 * Removes old events at startup and every ten minutes, if retention is configured.
 * @returns a function that stops it, after the current batch
 */
export function startJournalRetention(removing: Removing): () => Promise<void> {
  if (removing.days === 0) return async () => undefined;
  const { log } = removing;
  return startJob({
    firstMs: 0,
    intervalMs,
    log,
    failure: 'old events could not be removed',
    async work(stopping) {
      const removed = await removeOldEvents(removing, stopping);
      if (removed > 0) log.info({ removed }, 'old events were removed from the journal');
    },
  });
}
