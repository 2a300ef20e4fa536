import type { Job, JobTools } from '../../../service/job.ts';
import { createWalk } from '../../../service/queue-walk.ts';
import type { Context } from '../../context.ts';
import { deleteUnreadInvocations, findOldInvocations, type OldInvocationRow } from './old-invocations.sql.ts';

/** A call has up to 512 KiB of inputs and output. */
const batchMax = 200;

/**
 * Deletes calls of skills CP_SKILL_INVOCATIONS_RETENTION_SECONDS after their end. A call that is still read is kept,
 * and one that an approval permitted is kept as long as the approval, so that it permits no second call.
 */
export function deleteOldInvocations({ pool, settings }: JobTools<Context>): Job {
  const { CP_SKILL_INVOCATIONS_RETENTION_SECONDS: ageSeconds } = settings;
  const walk = createWalk<OldInvocationRow>(
    batchMax,
    (after) => pool.rows(findOldInvocations(after, ageSeconds, batchMax)),
    ({ finished_at: at, id }) => [at, id],
  );
  return {
    name: 'old-skill-calls',
    batchMax,
    async run() {
      const old = await walk.next();
      if (old.length === 0) return 0;
      const ids = old.map(({ id }) => id);
      const tenantIds = old.map(({ tenant_id: tenantId }) => tenantId);
      return walk.handledOf(old, (await pool.rows(deleteUnreadInvocations(ids, tenantIds))).length);
    },
  };
}
