import { emit } from '../ledger/journal/journal.ts';
import { eventText } from '../service/documents.ts';
import type { Context } from './context.ts';
import type { ClaimRow } from './lease-rows.ts';
import { claimReleased } from './leases.events.ts';
import {
  findActiveClaimsOfHolder,
  findActiveClaimsOfSession,
  updateClaimsToReleased,
} from './release.sql.ts';

/** Claims by id, all active ones of a session, or all active ones of a holder. */
export type WhichClaims = { claimIds: readonly string[] } | { sessionId: string } | { holderId: string };

/**
 * Releases active claims, frees their tasks, and writes `claim.released` for each. Claims that ended before are
 * skipped. For a session's or a holder's claims the caller has locked that session or principal, so that none is made
 * meanwhile.
 * @param options.taskStatusMove whether the tasks go back to their release status (core, section 7.3) and get their next
 * version with it. False where the caller writes the task itself, as completion does: then the event leaves the status
 * out and the version is the caller's.
 * @returns the claims released, in the order of their tasks
 */
export async function releaseClaims(
  context: Context,
  which: WhichClaims,
  options: { reason: string; taskStatusMove: boolean },
): Promise<ClaimRow[]> {
  const claimIds = await idsOf(context, which);
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

async function idsOf({ db, tenantId }: Context, which: WhichClaims): Promise<readonly string[]> {
  if ('claimIds' in which) return which.claimIds;
  const rows = await db.rows(
    'sessionId' in which
      ? findActiveClaimsOfSession(tenantId, which.sessionId)
      : findActiveClaimsOfHolder(tenantId, which.holderId),
  );
  return rows.map(({ id }) => id);
}
