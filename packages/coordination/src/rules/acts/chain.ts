import type { Context } from '../context.ts';
import { findChainDepth, noteTouched } from './acts.sql.ts';
import type { Cause } from './cause.ts';

/** What comes later than this after the last act of a rule on a task was not caused by it alone. */
const linkSecondsMax = 60;

/**
 * How many rules in a row have led to this cause, this one included; 1 for the first. Events that rules write cause no
 * rule, but what follows from their acts may, such as the end of a verification: two rules could cause each other so for
 * ever.
 */
export async function findChain({ db, tenantId }: Context, { taskId, trigger }: Cause): Promise<number> {
  if (taskId === null) return 1;
  const last = await db.row(findChainDepth(tenantId, taskId, trigger.occurredAt, linkSecondsMax));
  return (last?.chain_depth ?? 0) + 1;
}

/** Notes that so many acts in a row have led to what was done to a task, for the chain of what follows from it. */
export async function noteLinks({ db, tenantId }: Context, taskId: string, links: number): Promise<void> {
  await db.run(noteTouched(tenantId, taskId, links));
}
