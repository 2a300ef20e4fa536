import { isUnreachable } from '@baton/kernel/database/db';
import { isRepeatable } from '@baton/kernel/http/command';
import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { executeOutcome, recordFailedAttempt } from './execute-outcome.ts';
import { type DueOutcomeRow, findDueOutcomes } from './outcomes.sql.ts';

const batchMax = 50;

/**
 * Executes the outcomes of decisions, each in its own transaction. An outcome that fails unexpectedly is retried
 * after a delay, without blocking the others. See docs/reference/approvals.md#outcomes.
 */
export function executeDueOutcomes({ pool, command, log }: JobTools<Context>): Job {
  const name = 'approval-outcomes';
  return createDueJob<DueOutcomeRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findDueOutcomes(after, batchMax)),
      positionOf: ({ next_attempt_at: at, approval_id: id }) => [at, id],
      async handle({ approval_id: id, tenant_id: tenantId }) {
        try {
          return await command(name, tenantId, (context) => executeOutcome(context, id));
        } catch (error) {
          if (isUnreachable(error) || isRepeatable(error)) throw error;
          log.error({ err: error, job: name, id }, 'the outcome of a decision failed unexpectedly');
          return command(name, tenantId, (context) => recordFailedAttempt(context, id));
        }
      },
    },
  );
}
