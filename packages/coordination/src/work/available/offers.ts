import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { settleOffers } from './offers.sql.ts';

/** Batch size; each task is locked until the batch is done. */
const tasksMax = 500;

/**
 * Adds tasks to the work queue, and removes them, after a project was archived, restored or created, or a workspace was
 * moved between projects. The workspace is recorded in the transaction of that change and deleted with its last batch.
 */
export function synchronizeWorkQueue({ pool }: JobTools<Context>): Job {
  return {
    name: 'work offers',
    batchMax: 1,
    run: async () => Math.min((await pool.row(settleOffers(tasksMax)))?.settled ?? 0, 1),
  };
}
