import type { Context } from '../context.ts';
import { findChainDepth, recordAct } from './acts.sql.ts';
import type { Cause } from './cause.ts';

/** If a cause occurs more than this long after a rule's last action on the task, it starts a new chain. */
const linkSecondsMax = 60;

/**
 * The length of the chain of rules that led to this cause, including the current one; 1 for the first. Events that
 * rules write trigger no rule, but the consequences of their actions may, such as the end of a verification: without a
 * limit, two rules could trigger each other forever.
 */
export async function findChain({ db, tenantId }: Context, { taskId, trigger }: Cause): Promise<number> {
  if (taskId === null) return 1;
  const last = await db.row(findChainDepth(tenantId, taskId, trigger.occurredAt, linkSecondsMax));
  return (last?.chain_depth ?? 0) + 1;
}

/** Records the length of the chain that led to a change to a task; whatever that change causes continues the chain. */
export async function recordChain({ db, tenantId }: Context, taskId: string, links: number): Promise<void> {
  await db.run(recordAct(tenantId, taskId, links));
}
