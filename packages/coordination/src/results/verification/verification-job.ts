import type { Job, JobTools } from '../../service/job.ts';
import { createPutOff } from '../../service/put-off.ts';
import { createWalk, type QueuePosition } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { judgeAttempt } from './judging.ts';
import { type DueAttemptRow, findDueAttempts } from './verifications.sql.ts';

const batchMax = 50;

/**
 * Judges the attempts that are due (core, section 19), each in a transaction of its own. One that can't be judged is put
 * off and keeps no other.
 */
export function judgeDueAttempts({ pool, command, log }: JobTools<Context>): Job {
  const name = 'verifications';
  const putOff = createPutOff(name, log);
  const walk = createWalk(
    batchMax,
    (after) => pool.rows(findDueAttempts(after, batchMax)),
    ({ next_check_at: at, id }: DueAttemptRow): QueuePosition => [at, id],
  );
  return {
    name,
    batchMax,
    async run() {
      const due = await walk.next();
      let handled = 0;
      for (const { id, tenant_id: tenantId } of due)
        handled += await putOff.attempt(id, () =>
          command(name, tenantId, (context) => judgeAttempt(context, id)),
        );
      return walk.handledOf(due, handled);
    },
  };
}
