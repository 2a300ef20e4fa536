import type { Job, JobTools } from '../../service/job.ts';
import { createPutOff } from '../../service/put-off.ts';
import type { Context } from '../context.ts';
import { findDueTenants } from './turns.sql.ts';

const tenantsMax = 20;
/** Turns of different tenants at the same time, each on a connection of its own. */
const parallelMax = 4;

/**
 * Has a reader look at what happened, in turns (core, section 19): the least recently served tenant comes first, so one with
 * many events keeps no other.
 * @param takeTurn one turn of a tenant; answers whether there may be more at once
 */
export function createTurnJob(
  { pool, log }: Pick<JobTools<Context>, 'pool' | 'log'>,
  name: string,
  consumer: string,
  takeTurn: (tenantId: string) => Promise<boolean>,
): Job {
  const putOff = createPutOff(name, log);
  const turnOf = (tenantId: string) =>
    putOff.attempt(tenantId, async () => ((await takeTurn(tenantId)) ? 1 : 0));
  return {
    name,
    batchMax: tenantsMax,
    async run() {
      const rows = await pool.rows(findDueTenants(consumer, putOff.waiting(), tenantsMax));
      const due = rows.map((row) => row.tenant_id);
      let more = 0;
      for (let at = 0; at < due.length; at += parallelMax)
        more += (await Promise.all(due.slice(at, at + parallelMax).map(turnOf))).filter(Boolean).length;
      return more > 0 ? tenantsMax : due.length;
    },
  };
}
