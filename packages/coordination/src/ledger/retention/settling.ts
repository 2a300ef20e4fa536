import type { Answer, Surroundings } from '@baton/kernel/http/service';
import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { deleteFromArchive, findUnsettled, moveToArchive, settleFree } from './settling.sql.ts';

/** A batch holds back the readers of all tenants while it runs: 1,000 events took 40 ms. */
const eventsMax = 1000;
/** A call answers after this, and the worker goes on. */
const settlingMsMax = 5000;
const tenantsMax = 20;

/**
 * Runs a command of retention, then moves or deletes what it decided, in batches: each its own transaction, so that no
 * reader and no writer waits for all of them. What is left when time is up, or the process is gone, the worker does.
 */
export async function settleAround({ command, context }: Surroundings<undefined, Context>): Promise<Answer> {
  const answer = await command(undefined);
  try {
    await settle(context);
  } catch (error) {
    context.log.warn({ err: error }, 'history is archived or pruned, and the worker moves the rest of it');
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

/** Moves and deletes what calls have left, of one tenant after another in turns of one batch. */
export function settleJournals({ pool, log }: JobTools<Context>): Job {
  return createDueJob<{ tenant_id: string }>(
    { name: 'archived journals', batchMax: tenantsMax, log },
    {
      find: (after) => pool.rows(findUnsettled(after, tenantsMax)),
      positionOf: ({ tenant_id: id }) => ['-infinity', id],
      handle: async ({ tenant_id: id }) => (await pool.row(settleFree(id, eventsMax)))?.events ?? 0,
    },
  );
}
