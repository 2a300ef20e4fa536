import type { Job, JobTools } from '../../../service/job.ts';
import { createDeletionJob } from '../../../service/queue-walk.ts';
import { ruleConsumer } from '../../catalog/rules.ts';
import type { Context } from '../../context.ts';
import {
  deleteEvaluations,
  deleteOldActs,
  deleteOldWorkKeyRows,
  findOldEvaluations,
  type OldEvaluationRow,
} from './old-evaluations.sql.ts';

const batchMax = 500;
/**
 * How many events after the cursor may be read again. This is more than one turn reads (at most 900,
 * CP_RULES_BATCH_SIZE), because a turn can stop at any of its events.
 */
const nextEventsMax = 1000;

/**
 * Deletes the records of rules that are older than CP_RULES_RETENTION_SECONDS: ended evaluations, keys of closed tasks
 * and records of actions on tasks. An evaluation is kept while its cause may be read again, so that no rule acts twice
 * on it.
 */
export function deleteOldEvaluations({ pool, settings }: JobTools<Context>): Job {
  const { CP_RULES_RETENTION_SECONDS: ageSeconds } = settings;
  return createDeletionJob<OldEvaluationRow>(
    { name: 'old-rule-evaluations', batchMax },
    {
      find: (after) => pool.rows(findOldEvaluations(after, ageSeconds, batchMax)),
      positionOf: ({ updated_at: at, id }) => [at, id],
      remove: (ids, tenantIds) => pool.rows(deleteEvaluations(ids, tenantIds, ruleConsumer, nextEventsMax)),
    },
  );
}

/** Deletes old keys under which rules created tasks, and old records of actions on tasks. */
export function deleteOldWorkKeys({ pool, settings }: JobTools<Context>): Job {
  const { CP_RULES_RETENTION_SECONDS: ageSeconds } = settings;
  return {
    name: 'old-rule-work',
    batchMax,
    async run() {
      const looked = (await pool.row(deleteOldWorkKeyRows(ageSeconds, batchMax)))?.looked ?? 0;
      return Math.max(looked, (await pool.rows(deleteOldActs(ageSeconds, batchMax))).length);
    },
  };
}
