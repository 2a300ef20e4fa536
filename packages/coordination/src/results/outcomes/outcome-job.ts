import { isRepeatable } from '@baton/kernel/command';
import { isUnreachable } from '@baton/kernel/db';
import type { Job, JobTools } from '../../service/job.ts';
import { createPutOff } from '../../service/put-off.ts';
import { createWalk, type QueuePosition } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { executeOutcome, noteFailedTry } from './executing.ts';
import { type DueOutcomeRow, findDueOutcomes } from './outcomes.sql.ts';

const batchMax = 50;

/**
 * Does what decisions lead to (core, section 19), each in a transaction of its own. One that fails unexpectedly is tried
 * again after a pause, and keeps no other.
 */
export function doDueOutcomes({ pool, command, log }: JobTools<Context>): Job {
  const name = 'approval-outcomes';
  const putOff = createPutOff(name, log);
  const walk = createWalk(
    batchMax,
    (after) => pool.rows(findDueOutcomes(after, batchMax)),
    ({ next_attempt_at: at, approval_id: id }: DueOutcomeRow): QueuePosition => [at, id],
  );
  const tryOne = async (tenantId: string, id: string): Promise<number> => {
    try {
      return await command(name, tenantId, (context) => executeOutcome(context, id));
    } catch (error) {
      if (isUnreachable(error) || isRepeatable(error)) throw error;
      log.error({ err: error, job: name, id }, 'what a decision leads to failed unexpectedly');
      return command(name, tenantId, (context) => noteFailedTry(context, id));
    }
  };
  return {
    name,
    batchMax,
    async run() {
      const due = await walk.next();
      let handled = 0;
      for (const { approval_id: id, tenant_id: tenantId } of due)
        handled += await putOff.attempt(id, () => tryOne(tenantId, id));
      return walk.handledOf(due, handled);
    },
  };
}
