import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import {
  deleteClaimedAfter,
  deleteClaimedSince,
  deleteUnusedSets,
  type TidiedRow,
} from './queue-tidier.sql.ts';

const batchMax = 1000;
/** Each requirement set stays locked until the batch is done. */
const setsMax = 200;
/**
 * The age of the claims that a later round checks: five of the worker's rounds, so that a row that is locked in one
 * round is found again in the next.
 */
const recentSeconds = 5;
const beginning = '00000000-0000-0000-0000-000000000000';

/**
 * Removes the rows that claims of specific tasks leave in the work queue (decision 0210). Searches for work skip these
 * rows, so this only affects speed. The first round walks the whole queue; later rounds only check the claims of the
 * last few seconds.
 */
export function tidyWorkQueue({ pool }: JobTools<Context>): Job {
  let after: string | null = beginning;
  return {
    name: 'work queue',
    batchMax,
    async run() {
      const statement =
        after === null ? deleteClaimedSince(recentSeconds, batchMax) : deleteClaimedAfter(after, batchMax);
      const { looked_at: lookedAt, removed, last_id: lastId } = (await pool.row(statement)) as TidiedRow;
      if (after === null) return removed;
      after = lookedAt < batchMax ? null : lastId;
      return lookedAt;
    },
  };
}

/**
 * Deletes the requirement sets that no row in the queue refers to any more. Leftover sets only slow down searches,
 * which read all sets that match the caller's abilities.
 */
export function removeUnusedSets({ pool }: JobTools<Context>): Job {
  return {
    name: 'unused sets',
    batchMax: setsMax,
    run: async () => (await pool.row(deleteUnusedSets(setsMax)))?.looked_at ?? 0,
  };
}
