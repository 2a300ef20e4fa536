import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import type { Context } from '../context.ts';

/**
 * Plans and applies compare up to 8 MiB of objects, which a request of a few bytes may ask for: 24 at once ended a process
 * with a heap of 384 MiB. What waits holds its body, and larger ones have taken a place.
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
 * Plans or applies a package in a turn of the tenant and of the process.
 * @throws Refusal 503 `unavailable` where too many wait, and whatever `work` throws
 */
export function inPlanTurn<T>({ tenantId }: Context, work: () => Promise<T>): Promise<T> {
  return ofTenant.run(tenantId, () => ofProcess.run('', work));
}
