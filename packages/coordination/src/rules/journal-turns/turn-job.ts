import type { Job, JobTools } from '../../service/job.ts';
import { createPutOff } from '../../service/put-off.ts';
import type { Context } from '../context.ts';
import { findDueTenants } from './turns.sql.ts';

const tenantsMax = 20;
/** Maximum number of concurrent turns of different tenants, each with its own connection. */
const parallelMax = 4;

/**
 * Runs a journal reader in turns (docs/reference/README.md#background-work): the least recently served tenant is first,
 * so that a tenant with many events delays no other.
 * @param takeTurn one turn of a tenant; returns whether more events may be due
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
