import { isUnreachable } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { Job } from '../job.ts';
import { createPutOff } from '../put-off.ts';

/** Maximum number of tenants per run. */
const tenantsMax = 20;
/** Maximum number of concurrent turns of different tenants, each with its own connection. */
const parallelMax = 4;
/** Limits of a tenant's turn, in entries and in time. */
export const turnEntriesMax = 50;
const turnMsMax = 500;
const head = '00000000-0000-0000-0000-000000000000';

/**
 * A job that handles due entries in turns of tenants: a tenant with many entries doesn't delay others, and an entry
 * that fails doesn't delay the tenant's other entries.
 * @param queue.findTenants tenants with due entries after a tenant, ordered by id, at most `tenantsMax`
 * @param queue.find the due entries of a tenant except `except`, the longest due first, at most `turnEntriesMax`
 * @param queue.handle handles one entry in its own transaction; 0 when another transaction has locked it
 * @param queue.isOfTenant whether a failure concerns the tenant and not the entry: then the tenant is postponed
 */
export function createTenantTurns(
  { name, log }: Pick<Job, 'name'> & { log: Logger },
  queue: {
    findTenants(after: string, tenantsMax: number): Promise<readonly string[]>;
    find(tenantId: string, except: readonly string[]): Promise<readonly string[]>;
    handle(tenantId: string, id: string): Promise<number>;
    isOfTenant?(error: unknown): boolean;
  },
): Job {
  const [tenants, entries] = [createPutOff(name, log), createPutOff(name, log)];
  let after = head;

  async function entryOf(tenantId: string, id: string): Promise<number> {
    try {
      return await queue.handle(tenantId, id);
    } catch (error) {
      if (isUnreachable(error) || queue.isOfTenant?.(error)) throw error;
      entries.note(id, error);
      return 0;
    }
  }

  const turnOf = (tenantId: string) =>
    tenants.attempt(tenantId, async () => {
      const untilMs = performance.now() + turnMsMax;
      let handled = 0;
      for (const id of await queue.find(tenantId, entries.waiting())) {
        if (performance.now() > untilMs) break;
        handled += await entryOf(tenantId, id);
      }
      return handled;
    });

  return {
    name,
    batchMax: turnEntriesMax,
    async run() {
      const due = await queue.findTenants(after, tenantsMax);
      after = due.length < tenantsMax ? head : (due.at(-1) ?? head);
      let handled = 0;
      for (let at = 0; at < due.length; at += parallelMax)
        for (const count of await Promise.all(due.slice(at, at + parallelMax).map(turnOf))) handled += count;
      // The next run starts at once: handled entries may have created new due work, and other tenants may follow.
      return handled > 0 || due.length === tenantsMax ? turnEntriesMax : 0;
    },
  };
}
