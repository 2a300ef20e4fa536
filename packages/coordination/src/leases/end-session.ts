import { newId } from '@baton/values/ids';
import { emit } from '../ledger/journal/journal.ts';
import { undoOnFailure } from '../ledger/savepoint.ts';
import type { Context } from './context.ts';
import {
  insertEnding,
  tryLockSession,
  updateSessionToClosed,
  updateSessionToStale,
} from './end-session.sql.ts';
import { endingBatchMax } from './lease-bounds.ts';
import type { ClaimRow, SessionRow } from './lease-rows.ts';
import { sessionClosed, sessionExpired } from './leases.events.ts';
import { countActiveClaimsOfSession, lockFreeClaimsOfSession } from './release.sql.ts';
import { releaseClaims, sessionExpiry } from './release.ts';

/** A session that has just ended. */
export interface EndedSession {
  readonly session: SessionRow;
  /** The number of claims that end with the session: those already released, and those that the worker will release. */
  readonly releasedClaims: number;
  readonly releasedIds: readonly string[];
}

/** The claims of an ending session that are released at once; the worker releases the others. */
interface FirstClaims {
  /** 100 by default. */
  readonly claimsMax?: number;
  /** False if the caller handles claims that can't be released; otherwise the worker does. */
  readonly undone?: boolean;
}

/**
 * Closes a session and releases its claims. The caller holds the session's lock exclusively, so no claim can be made
 * in the meantime.
 * @param reason the reason for a close without a request (`principal_disabled`, `delegation_ended`), also for the
 * released claims
 * @returns undefined if it was already closed; in that case, nothing is written
 */
export async function endSession(
  context: Context,
  sessionId: string,
  reason?: string,
  first: FirstClaims = {},
): Promise<EndedSession | undefined> {
  const session = await context.db.row(updateSessionToClosed(context.tenantId, sessionId));
  if (session === undefined) return undefined;
  const ended = await releaseFirst(context, sessionId, reason ?? 'session_closed', first);
  const payload = { releasedClaims: ended.releasedClaims, ...(reason !== undefined && { reason }) };
  emit(context, sessionClosed, { entityId: sessionId, sessionId }, payload);
  return { session, ...ended };
}

/**
 * Marks a session whose lease has expired as stale and releases its claims. The caller holds the session's lock
 * exclusively. See docs/reference/sessions.md#states.
 * @returns undefined if the lease is live, or the session has already been marked
 */
export async function expireSession(
  context: Context,
  sessionId: string,
  claimsMax = endingBatchMax,
): Promise<EndedSession | undefined> {
  const session = await context.db.row(updateSessionToStale(context.tenantId, sessionId));
  if (session === undefined) return undefined;
  const ended = await releaseFirst(context, sessionId, sessionExpiry, { claimsMax });
  const payload = { expiresAt: session.expires_at, releasedClaims: ended.releasedClaims };
  emit(context, sessionExpired, { entityId: sessionId, sessionId }, payload);
  return { session, ...ended };
}

/**
 * Releases the first claims of a session that this change ended, and creates an ending for the worker if more are left.
 * A claim whose task is locked by another transaction is also left to the worker, so that ending a session doesn't wait
 * for tasks. If one claim can't be released, all are left: the worker tries each one separately.
 */
async function releaseFirst(
  context: Context,
  sessionId: string,
  reason: string,
  { claimsMax = endingBatchMax, undone = true }: FirstClaims,
) {
  const { db, tenantId } = context;
  const found = await db.rows(
    lockFreeClaimsOfSession(tenantId, sessionId, { rowsMax: claimsMax, except: [] }),
  );
  const claimIds = found.map(({ id }) => id);
  const release = () => releaseClaims(context, { claimIds }, { reason, taskStatusMove: true });
  const leave = (error: unknown): ClaimRow[] => {
    context.log.error({ err: error, sessionId }, 'the claims of a session are left to the worker');
    return [];
  };
  const released = await (undone && claimIds.length > 0 ? undoOnFailure(context, release, leave) : release());
  const leftCount = (await db.row(countActiveClaimsOfSession(tenantId, sessionId)))?.count ?? 0;
  if (leftCount > 0)
    await db.run(insertEnding({ id: newId(), tenantId, sessionId, principalId: null, reason }));
  return { releasedClaims: released.length + leftCount, releasedIds: released.map(({ id }) => id) };
}

/**
 * Marks a session whose lease has expired as stale, unless another command is using it.
 * @returns the same as `expireSession`
 */
export async function expireFreeSession(
  context: Context,
  sessionId: string,
  claimsMax = endingBatchMax,
): Promise<EndedSession | undefined> {
  const locked = await context.db.row(tryLockSession(context.tenantId, sessionId));
  return locked === undefined ? undefined : expireSession(context, sessionId, claimsMax);
}

/**
 * Closes a session, unless another command is using it.
 * @param isDue checked under the session's lock
 * @returns the same as `endSession`
 */
export async function endFreeSession(
  context: Context,
  sessionId: string,
  isDue: () => Promise<boolean>,
): Promise<EndedSession | undefined> {
  const locked = await context.db.row(tryLockSession(context.tenantId, sessionId));
  return locked !== undefined && (await isDue()) ? endSession(context, sessionId) : undefined;
}

/**
 * Ends a session whose delegation was revoked or has expired, for a command that already shares the session's lock or
 * has a task locked: waiting for other holders of the lock could deadlock. A session in use by others is ended at its
 * next use.
 */
export async function endUndelegatedSession(context: Context, sessionId: string): Promise<void> {
  const locked = await context.db.row(tryLockSession(context.tenantId, sessionId));
  if (locked !== undefined) await endSession(context, sessionId, 'delegation_ended');
}
