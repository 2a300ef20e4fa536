import type { Db } from '@baton/kernel/database/db';
import type { Job, JobTools } from '../../../service/job.ts';
import { createDueJob } from '../../../service/queue-walk.ts';
import type { Context } from '../../context.ts';
import { processConsumer } from '../../triggers/triggers.ts';
import {
  deleteInstance,
  deleteSome,
  findOldInstances,
  lockDeletable,
  type OldInstanceRow,
} from './old-instances.sql.ts';

const batchMax = 100;
/** Maximum number of journal lines, and of inputs, that one transaction deletes: about 30 ms. */
const rowsMax = 1000;
/**
 * How many events after the cursor may be read again. This is more than one turn reads (at most 900,
 * CP_PROCESSES_BATCH_SIZE), because a turn can stop at any of its events.
 */
const nextEventsMax = 1000;

/**
 * Deletes instances that ended at least CP_PROCESSES_RETENTION_SECONDS ago, with their journals and inputs, in batches.
 * Instances with unclosed objects are kept, and so are those whose causing event may be read again, so that no event
 * starts two instances.
 */
export function deleteOldInstances({ pool, settings, log }: JobTools<Context>): Job {
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

/** @returns 0 if the instance is kept; a whole batch if more rows are left */
async function forgetSome(tx: Db, { id, tenant_id: tenantId }: OldInstanceRow): Promise<number> {
  if ((await tx.row(lockDeletable(tenantId, id, processConsumer, nextEventsMax))) === undefined) return 0;
  const removed = (await tx.row(deleteSome(tenantId, id, rowsMax)))?.rows ?? 0;
  if (removed === rowsMax) return batchMax;
  await tx.run(deleteInstance(tenantId, id));
  return 1;
}
