import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { failAttempt } from './attempts.ts';
import {
  type DueLeaseRow,
  findDueLeases,
  lockExpiredOfTenant,
  lockFreeExpired,
} from './end-invocation.sql.ts';
import type { InvocationRow } from './invocation.ts';

const batchMax = 100;
/** The maximum number of expired leases that one claim ends. */
const lapsedAtClaimMax = 20;

/** Requeues or fails calls whose executors missed their heartbeats. See docs/reference/skills.md#leases. */
export function requeueExpiredCalls({ pool, command, log }: JobTools<Context>): Job {
  const name = 'skill-leases';
  return createDueJob<DueLeaseRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findDueLeases(after, batchMax)),
      positionOf: ({ lease_expires_at: at, id }) => [at, id],
      handle: ({ id, tenant_id: tenantId }) =>
        command(name, tenantId, async (context) => {
          const row = await context.db.row(lockFreeExpired(tenantId, id));
          if (row === undefined) return 0;
          await lapse(context, row);
          return 1;
        }),
    },
  );
}

/**
 * Requeues or fails a few calls of a tenant whose leases have expired when one of its executors claims work, so that
 * they needn't wait for the worker.
 */
export async function expireLeasesOfTenant(context: Context): Promise<void> {
  for (const row of await context.db.rows(lockExpiredOfTenant(context.tenantId, lapsedAtClaimMax)))
    await lapse(context, row);
}

function lapse(context: Context, row: InvocationRow): Promise<InvocationRow> {
  const error = { code: 'lease_expired', message: 'The executor sent no heartbeat in time.' };
  return failAttempt(context, row, error, true);
}
