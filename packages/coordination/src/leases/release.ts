import { eventText } from '@baton/values/event-text';
import { emit } from '../ledger/journal/journal.ts';
import type { Context } from './context.ts';
import type { ClaimRow } from './lease-rows.ts';
import { claimReleased } from './leases.events.ts';
import { type ReleasedClaimRow, updateClaimsToReleased } from './release.sql.ts';

export type { ReleasedClaimRow };

/** The release reason for claims of a session whose lease has expired. */
export const sessionExpiry = 'session_expired';

export interface Release {
  readonly reason: string;
  /**
   * Whether the tasks return to their release status, which also gives them their next version. False if the caller
   * writes the task itself, as completion does: then the event has no status, and the caller sets the version. See
   * docs/reference/claims.md#states.
   */
  readonly taskStatusMove: boolean;
  /** The cause of the release, if not the request itself. */
  readonly causationId?: string | null;
}

/**
 * Releases active claims, frees their tasks, and writes `claim.released` for each. Claims that have already ended are
 * skipped.
 * @returns the released claims, in the order of their tasks
 */
export async function releaseClaims(
  context: Context,
  { claimIds }: { claimIds: readonly string[] },
  release: Release,
): Promise<ClaimRow[]> {
  const released = await endClaims(context, claimIds, release);
  for (const claim of released) noteReleased(context, claim, release);
  return released;
}

/**
 * Like `releaseClaims`, but without the events, for a command that writes other events first: that command must then
 * call `noteReleased` for each claim.
 */
export async function endClaims(
  { db, tenantId }: Context,
  claimIds: readonly string[],
  { reason, taskStatusMove: taskMoves }: Release,
): Promise<ReleasedClaimRow[]> {
  if (claimIds.length === 0) return [];
  const isExpiry = reason === sessionExpiry;
  return db.rows(updateClaimsToReleased({ tenantId, claimIds, reason, taskMoves, isExpiry }));
}

/** Writes the event of a released claim. */
export function noteReleased(
  context: Context,
  claim: ReleasedClaimRow,
  { reason, taskStatusMove, causationId = null }: Release,
): void {
  const task = { taskStatus: claim.task_status, taskSystemStatusCategory: claim.task_category };
  emit(
    context,
    claimReleased,
    { entityId: claim.id, workspaceId: claim.workspace_id, sessionId: claim.session_id, causationId },
    { taskId: claim.task_id, reason: eventText(reason), ...(taskStatusMove && task) },
  );
}
