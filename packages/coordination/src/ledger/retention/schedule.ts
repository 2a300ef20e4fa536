import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import {
  type DueTenantRow,
  findDueTenants,
  updateDueTenant,
  updateTenantToDue,
} from './apply-retention.sql.ts';
import { archiveUpTo } from './retention.ts';

const tenantsMax = 20;
/** The maximum number of events of one tenant per turn; then other tenants follow. */
const eventsMax = 10_000;

/**
 * Archives each tenant's history every CP_JOURNAL_ARCHIVE_INTERVAL_SECONDS, like `journal:archive` without a body.
 * Skips tenants without a consumer's cursor. Only one of several workers processes a due tenant. See
 * docs/reference/journal.md#archive-and-prune.
 */
export function archiveOnSchedule({ pool, command, log, settings }: JobTools<Context>): Job {
  const name = 'journal-archive';
  const { CP_JOURNAL_ARCHIVE_INTERVAL_SECONDS: intervalSeconds } = settings;
  const job = createDueJob<DueTenantRow>(
    { name, batchMax: tenantsMax, log },
    {
      find: (after) => pool.rows(findDueTenants(after, tenantsMax)),
      positionOf: ({ due_at: at, tenant_id: id }) => [at, id],
      handle: ({ tenant_id: id }) => command(name, id, (context) => archiveDue(context, intervalSeconds)),
    },
  );
  return intervalSeconds === 0 ? { ...job, run: async () => 0 } : job;
}

async function archiveDue(context: Context, intervalSeconds: number): Promise<number> {
  const { db, tenantId } = context;
  if ((await db.row(updateDueTenant(tenantId, intervalSeconds))) === undefined) return 0;
  const archived = await archiveUpTo(context, { maxEvents: eventsMax });
  if (archived?.archived === eventsMax) await db.run(updateTenantToDue(tenantId));
  return 1;
}
