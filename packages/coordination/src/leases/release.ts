import { emit } from '../ledger/journal/journal.ts';
import { eventText } from '../service/documents.ts';
import type { Context } from './context.ts';
import type { ClaimRow } from './lease-rows.ts';
import { claimReleased } from './leases.events.ts';
import { updateClaimsToReleased } from './release.sql.ts';

/**
 * Releases active claims, frees their tasks, and writes `claim.released` for each. Claims that ended before are
 * skipped.
 * @param options.taskStatusMove whether the tasks go back to their release status (core, section 7.3) and get their next
 * version with it. False where the caller writes the task itself, as completion does: then the event leaves the status
 * out and the version is the caller's.
 * @returns the claims released, in the order of their tasks
 */
export async function releaseClaims(
  context: Context,
  { claimIds }: { claimIds: readonly string[] },
  options: { reason: string; taskStatusMove: boolean },
): Promise<ClaimRow[]> {
  if (claimIds.length === 0) return [];
  const { reason, taskStatusMove } = options;
  const released = await context.db.rows(
    updateClaimsToReleased({ tenantId: context.tenantId, claimIds, reason, taskMoves: taskStatusMove }),
  );
  for (const claim of released) {
    const task = { taskStatus: claim.task_status, taskSystemStatusCategory: claim.task_category };
    emit(
      context,
      claimReleased,
      { entityId: claim.id, workspaceId: claim.workspace_id, sessionId: claim.session_id },
      { taskId: claim.task_id, reason: eventText(reason), ...(taskStatusMove && task) },
    );
  }
  return released;
}
