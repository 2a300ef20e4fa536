import { eventText } from '@baton/values/event-text';
import { emit } from '../../ledger/journal/journal.ts';
import { undoOnFailure } from '../../ledger/savepoint.ts';
import type { Context } from '../context.ts';
import { endingBatchMax } from '../lease-bounds.ts';
import { countCallsOf, lockFreeCallsOf, updateCallsToCancelled } from './cancel-invocations.sql.ts';
import { invocationCancelled } from './invocations.events.ts';

export interface Cancellation {
  /** `cancelled`, or `basis_revoked` if the invocation's basis no longer allows it. */
  readonly code: 'cancelled' | 'basis_revoked';
  readonly reason: string;
  /** Who cancels the invocations: the caller (`principal`), or the service in background work (`system`). */
  readonly initiator: 'principal' | 'system';
}

/**
 * Cancels the live invocations among these; later results of their executors are refused. See
 * docs/reference/skills.md#executors.
 * @returns the ids of the cancelled ones
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
 * Withdraws the invocations of a principal that is being disabled: the first batch now; the rest, and locked ones, by
 * the worker, which is notified of the change to the principal. It doesn't wait for locks.
 * @returns the total
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
  await undoOnFailure(context, withdraw, (error) => {
    context.log.error({ err: error, principalId }, 'the invocations of a principal are left to the worker');
    return 0;
  });
  return count;
}
