import type { Answer, Surroundings } from '@baton/kernel/http/service';
import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { deleteFromArchive, findUnsettled, moveToArchive, settleFree } from './apply-retention.sql.ts';

/** A batch delays the readers of all tenants while it runs: 1,000 events took 40 ms. */
const eventsMax = 1000;
/** After this time, the response is sent and the worker continues. */
const settlingMsMax = 5000;
const tenantsMax = 20;

/**
 * Runs a retention command, then moves or deletes the selected rows in batches, each in its own transaction, so that
 * readers and writers don't wait for all of them. After the timeout or a crash, the worker continues.
 */
export async function applyRetention({
  command,
  context,
}: Surroundings<undefined, Context>): Promise<Answer> {
  const answer = await command(undefined);
  try {
    await settle(context);
  } catch (error) {
    context.log.warn({ err: error }, 'history is archived or pruned; the worker moves the remaining rows');
  }
  return answer;
}

async function settle({ db, tenantId }: Context): Promise<void> {
  const until = performance.now() + settlingMsMax;
  for (const batch of [moveToArchive, deleteFromArchive])
    while (performance.now() < until) {
      const row = await db.row(batch(tenantId, eventsMax));
      if (row === undefined || row.events < eventsMax) break;
    }
}

/** Moves and deletes rows left by requests, in turns of one batch per tenant. */
export function applyPendingRetention({ pool, log }: JobTools<Context>): Job {
  return createDueJob<{ tenant_id: string }>(
    { name: 'archived journals', batchMax: tenantsMax, log },
    {
      find: (after) => pool.rows(findUnsettled(after, tenantsMax)),
      positionOf: ({ tenant_id: id }) => ['-infinity', id],
      handle: async ({ tenant_id: id }) => (await pool.row(settleFree(id, eventsMax)))?.events ?? 0,
    },
  );
}
