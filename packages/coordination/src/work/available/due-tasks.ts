import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { queueDueTasks, settleZones } from './due-tasks.sql.ts';

/** Batch size; each task is locked until the batch is done. */
const tasksMax = 500;

/**
 * Moves the rows of due tasks to the sets that searches read. Each search also reads its tenant's due tasks that have
 * not been moved yet (`tasks_come_due`), so results are correct without this job, but at midnight there may be
 * thousands of them.
 */
export function moveDueTasks({ pool }: JobTools<Context>): Job {
  return {
    name: 'due tasks',
    batchMax: tasksMax,
    run: async () => (await pool.row(queueDueTasks(tasksMax)))?.moved ?? 0,
  };
}

/**
 * Recomputes the start of tasks after the time zone of their workspace has changed: a calendar was published with
 * another zone, or a workspace got another calendar. The change is recorded in its own transaction and deleted with the
 * last batch.
 */
export function settleStarts({ pool }: JobTools<Context>): Job {
  return {
    name: 'starts of tasks',
    batchMax: 1,
    run: async () => Math.min((await pool.row(settleZones(tasksMax)))?.settled ?? 0, 1),
  };
}
