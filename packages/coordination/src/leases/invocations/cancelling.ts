import { eventText } from '@baton/values/event-text';
import { emit } from '../../ledger/journal/journal.ts';
import { undoneOnFailure } from '../../ledger/savepoint.ts';
import type { Context } from '../context.ts';
import { endingBatchMax } from '../lease-bounds.ts';
import { countCallsOf, lockFreeCallsOf, updateCallsToCancelled } from './cancelling.sql.ts';
import { invocationCancelled } from './invocations.events.ts';

export interface Cancellation {
  /** `cancelled`, or `basis_revoked` where what allowed the call no longer does. */
  readonly code: 'cancelled' | 'basis_revoked';
  readonly reason: string;
  /** The caller, or nobody: the core itself. */
  readonly initiator: 'principal' | 'system';
}

/**
 * Cancels those of the calls that live; a late answer of their executors is refused (organisation, section 10.6).
 * @returns the ids of those that were cancelled
 */
export async function cancelCalls(
  context: Context,
  ids: readonly string[],
  { code, reason, initiator }: Cancellation,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const shown = eventText(reason);
  const { db, tenantId, caller } = context;
  const rows = await db.rows(updateCallsToCancelled(tenantId, ids, { code, reason: shown, initiator }));
  context.counters.skillInvocations.inc({ result: 'cancelled' }, rows.length);
  for (const row of rows)
    emit(
      context,
      invocationCancelled,
      { entityId: row.id, workspaceId: row.workspace_id },
      {
        skillId: row.skill_id,
        skill: eventText(row.skill),
        version: row.version,
        attempt: row.attempt,
        taskId: row.task_id,
        runId: row.run_id,
        code,
        reason: shown,
        wasRunning: row.was_running,
        cancelledBy: initiator === 'principal' ? caller.principalId : null,
        initiator,
      },
    );
  return rows.map(({ id }) => id);
}

/**
 * Withdraws the calls in the name of a principal that is being disabled: the first batch now, what is left or locked by
 * the worker, for whom the change of the principal was noted. Nothing is waited for.
 * @returns how many there were in all
 */
export async function withdrawCallsOf(context: Context, principalId: string): Promise<number> {
  const { db, tenantId } = context;
  const { count } = (await db.row(countCallsOf(tenantId, principalId))) as { count: number };
  if (count === 0) return 0;
  const withdraw = async () => {
    const free = await db.rows(lockFreeCallsOf(tenantId, principalId, endingBatchMax));
    const ids = free.map(({ id }) => id);
    const lost = { code: 'basis_revoked', reason: 'principal_not_active', initiator: 'system' } as const;
    return (await cancelCalls(context, ids, lost)).length;
  };
  await undoneOnFailure(context, withdraw, (error) => {
    context.log.error({ err: error, principalId }, 'the calls of a principal are left to the worker');
    return 0;
  });
  return count;
}
