import type { Db } from '@baton/kernel/database/db';
import type { Job, JobTools } from '../../../service/job.ts';
import { createDueJob } from '../../../service/queue-walk.ts';
import type { Context } from '../../context.ts';
import { processConsumer } from '../../triggers/triggers.ts';
import {
  deleteInstance,
  deleteSome,
  findOldInstances,
  lockForgettable,
  type OldInstanceRow,
} from './old-instances.sql.ts';

const batchMax = 100;
/** Lines of the journal, and as many inputs, that one transaction removes: some 30 ms. */
const rowsMax = 1000;
/** A turn reads at most 900 events (CP_PROCESSES_BATCH_SIZE), and ends at one of them. */
const nextEventsMax = 1000;

/**
 * Forgets instances that ended CP_PROCESSES_RETENTION_SECONDS ago, with their journals and what they took, a little in each
 * transaction. One that has left something open stays, and so does one whose cause may come by again, so that no event starts two.
 */
export function forgetOldInstances({ pool, settings, log }: JobTools<Context>): Job {
  const { CP_PROCESSES_RETENTION_SECONDS: ageSeconds } = settings;
  return createDueJob<OldInstanceRow>(
    { name: 'old-process-instances', batchMax, log },
    {
      find: (after) => pool.rows(findOldInstances(after, ageSeconds, batchMax)),
      positionOf: ({ completed_at: at, id }) => [at, id],
      handle: (row) => pool.transaction((tx) => forgetSome(tx, row)),
    },
  );
}

/** @returns 0 where it stays; a whole batch where there is more of it */
async function forgetSome(tx: Db, { id, tenant_id: tenantId }: OldInstanceRow): Promise<number> {
  if ((await tx.row(lockForgettable(tenantId, id, processConsumer, nextEventsMax))) === undefined) return 0;
  const removed = (await tx.row(deleteSome(tenantId, id, rowsMax)))?.rows ?? 0;
  if (removed === rowsMax) return batchMax;
  await tx.run(deleteInstance(tenantId, id));
  return 1;
}
