import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import type { Context } from '../context.ts';

/**
 * Plans and applies compare up to 8 MiB of objects, which a request of a few bytes may cause: 24 at once crashed a
 * process with a heap of 384 MiB. While a request waits, its body stays in memory; large bodies have already taken a
 * slot of their own limit.
 */
const ofTenant = new ConcurrencyLimit('plans of packages of the tenant', {
  runningMax: 1,
  queuedMax: 16,
  waitMsMax: 10_000,
});
const ofProcess = new ConcurrencyLimit('plans of packages', {
  runningMax: 2,
  queuedMax: 64,
  waitMsMax: 10_000,
});

/**
 * Plans or applies a package when the tenant and the process have a free slot.
 * @throws Refusal 503 `unavailable` if too many requests wait, and errors of `work`
 */
export function runInPlanTurn<T>({ tenantId }: Context, work: () => Promise<T>): Promise<T> {
  return ofTenant.run(tenantId, () => ofProcess.run('', work));
}
