import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { evaluateAttempt } from './evaluate-attempt.ts';
import { type DueAttemptRow, findDueAttempts } from './verifications.sql.ts';

const batchMax = 50;

/**
 * Evaluates the attempts that are due, each in its own transaction. See
 * docs/reference/completion.md#verification-attempts.
 */
export function evaluateDueAttempts({ pool, command, log }: JobTools<Context>): Job {
  const name = 'verifications';
  return createDueJob<DueAttemptRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findDueAttempts(after, batchMax)),
      positionOf: ({ next_check_at: at, id }) => [at, id],
      handle: ({ id, tenant_id: tenantId }) =>
        command(name, tenantId, (context) => evaluateAttempt(context, id)),
    },
  );
}
