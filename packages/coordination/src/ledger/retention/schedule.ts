import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { archiveUpTo } from './retention.ts';
import { type DueTenantRow, findDueTenants, updateDueTenant, updateTenantToDue } from './settling.sql.ts';

const tenantsMax = 20;
/** Of one tenant in one turn; then the others come. */
const eventsMax = 10_000;

/**
 * Archives each tenant's history every CP_JOURNAL_ARCHIVE_INTERVAL_SECONDS, as `journal:archive` without a body does (core,
 * section 23, W17). A tenant without a consumer's cursor is left alone. Of several workers one takes a tenant's turn.
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
