import { eventText } from '@baton/values/event-text';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import type { ChildHandleOfParentRow } from './child-handle-row.ts';
import { childRevoked } from './children.events.ts';

/**
 * Writes the event of a revoked launch on the run that launched it.
 * @param causationId the cause of the revocation, unless it was a request for this handle
 */
export function noteChildRevoked(
  context: Context,
  handle: ChildHandleOfParentRow,
  reason: string,
  causationId?: string,
): void {
  emit(
    context,
    childRevoked,
    {
      entityId: handle.parent_run_id,
      workspaceId: handle.parent_workspace_id,
      causationId: causationId ?? handle.id,
    },
    {
      childHandleId: handle.id,
      childTaskId: handle.child_task_id,
      childRunId: handle.child_run_id,
      correlationId: handle.correlation_id,
      reason: eventText(reason),
    },
  );
}
