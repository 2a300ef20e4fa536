import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { RunRow } from '../lease-rows.ts';
import { lockGrantingHandle } from './child-grant.ts';
import type { ChildHandleOfParentRow } from './child-handle-row.ts';
import { childStarted } from './children.events.ts';
import { findRunStatus, lockRunningRun, updateHandleToBound } from './children.sql.ts';

/**
 * Locks the handle of a launched task, whose row is locked, for the run that is about to start under `claimId`. A run
 * of an earlier claim counts as lost, not as ended: the new run replaces it.
 * @returns undefined when a run of this claim is running: that refusal takes precedence
 * @throws Refusal `child_handle_revoked`, `child_handle_expired`, `child_grant_exceeded`, `child_run_already_bound`
 */
export async function lockStartableHandle(
  context: Context,
  handleId: string,
  taskId: string,
  claimId: string,
): Promise<ChildHandleOfParentRow | undefined> {
  const { db, tenantId } = context;
  const running = await db.row(lockRunningRun(tenantId, taskId));
  if (running?.claim_id === claimId) return undefined;
  const handle = await lockGrantingHandle(context, handleId, 'tasks.claim');
  const boundRunId = handle.child_run_id;
  if (boundRunId === null || boundRunId === running?.id) return handle;
  const status = (await db.row(findRunStatus(tenantId, boundRunId)))?.status;
  if (status !== 'suspended') fail('child_run_already_bound', { childHandleId: handleId, runId: boundRunId });
  return handle;
}

/** Records on a locked handle the run that now works on its task. */
export async function bindChildRun(
  context: Context,
  handle: ChildHandleOfParentRow,
  run: RunRow,
): Promise<void> {
  await context.db.run(updateHandleToBound(context.tenantId, handle.id, run.id));
  emit(
    context,
    childStarted,
    {
      entityId: handle.parent_run_id,
      workspaceId: handle.parent_workspace_id,
      sessionId: run.session_id,
      causationId: handle.id,
    },
    {
      childHandleId: handle.id,
      childTaskId: handle.child_task_id,
      childRunId: run.id,
      correlationId: handle.correlation_id,
      attempt: run.attempt,
    },
  );
}
