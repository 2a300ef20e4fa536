import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { settleOffers } from './offers.sql.ts';

/** Each is locked until the batch is done. */
const tasksMax = 500;

/**
 * Puts tasks into the queue of work, and takes them out, after a project was archived, restored or made, or a workspace
 * moved between projects. A workspace is noted in the transaction of that change, and forgotten with its last batch.
 */
export function offerWorkAnew({ pool }: JobTools<Context>): Job {
  return {
    name: 'work offers',
    batchMax: 1,
    run: async () => Math.min((await pool.row(settleOffers(tasksMax)))?.settled ?? 0, 1),
  };
}
