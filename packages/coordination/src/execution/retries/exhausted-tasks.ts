import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { deleteExhausted, findExhausted, lockExhausted } from './retries.sql.ts';
import { endAttempts } from './retries.ts';

const batchMax = 100;
const name = 'exhausted tasks';

/**
 * Moves tasks whose last allowed attempt ended with an expired lease to a blocked status. The tasks are already on
 * hold, from the moment the lease was recorded as expired, so only their status changes.
 */
export function blockExhaustedTasks({ pool, command, log }: JobTools<Context>): Job {
  return createDueJob(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findExhausted(after, batchMax)),
      positionOf: ({ noted_at: at, task_id: id }) => [at, id],
      handle: ({ tenant_id: tenantId, task_id: taskId }) =>
        command(name, tenantId, (context) => blockExhausted(context, taskId)),
    },
  );
}

async function blockExhausted(context: Context, taskId: string): Promise<number> {
  const { db, tenantId } = context;
  const task = await db.row(lockExhausted(tenantId, taskId));
  if (task === undefined) return 0;
  const rules = await rulesOf(context, task.type_id);
  if (task.is_exhausted) await endAttempts(context, task, rules, 'lease_expired');
  else await db.run(deleteExhausted(tenantId, taskId));
  return 1;
}
