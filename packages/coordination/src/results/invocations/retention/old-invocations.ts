import type { Job, JobTools } from '../../../service/job.ts';
import { createDeletionJob } from '../../../service/queue-walk.ts';
import type { Context } from '../../context.ts';
import { deleteUnreadInvocations, findOldInvocations, type OldInvocationRow } from './old-invocations.sql.ts';

/** A call has up to 512 KiB of inputs and output. */
const batchMax = 200;

/**
 * Deletes calls to skills CP_SKILL_INVOCATIONS_RETENTION_SECONDS after they ended. Calls that are still referenced are
 * kept. A call that an approval permitted is kept for as long as the approval is, so that the approval
 * permits no second call.
 */
export function deleteOldInvocations({ pool, settings }: JobTools<Context>): Job {
  const { CP_SKILL_INVOCATIONS_RETENTION_SECONDS: ageSeconds } = settings;
  return createDeletionJob<OldInvocationRow>(
    { name: 'old-skill-calls', batchMax },
    {
      find: (after) => pool.rows(findOldInvocations(after, ageSeconds, batchMax)),
      positionOf: ({ finished_at: at, id }) => [at, id],
      remove: (ids, tenantIds) => pool.rows(deleteUnreadInvocations(ids, tenantIds)),
    },
  );
}
