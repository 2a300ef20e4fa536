import { newId } from '@baton/values/ids';
import { emit } from '../ledger/journal/journal.ts';
import { undoneOnFailure } from '../ledger/savepoint.ts';
import type { Context } from './context.ts';
import { endingBatchMax } from './lease-bounds.ts';
import type { ClaimRow, SessionRow } from './lease-rows.ts';
import { sessionClosed, sessionExpired } from './leases.events.ts';
import { countActiveClaimsOfSession, lockFreeClaimsOfSession } from './release.sql.ts';
import { releaseClaims, sessionExpiry } from './release.ts';
import {
  insertEnding,
  tryLockSession,
  updateSessionToClosed,
  updateSessionToStale,
} from './session-ending.sql.ts';

/** A session that ended just now. */
export interface EndedSession {
  readonly session: SessionRow;
  /** How many claims end with it: those released already, and those that the worker releases. */
  readonly releasedClaims: number;
  readonly releasedIds: readonly string[];
}

/** What is done at once with the claims of a session that ends; the worker releases the others. */
interface FirstClaims {
  /** 100 unless said otherwise. */
  readonly claimsMax?: number;
  /** False where the caller deals with a claim that can't be released; otherwise the worker does. */
  readonly undone?: boolean;
}

/**
 * Closes a session and releases its claims. The caller has the session's lock alone, so no claim is made meanwhile.
 * @param reason why, where no request asked for it (`principal_disabled`, `delegation_ended`): the reason of the released
 * claims too
 * @returns undefined when it was closed before; then nothing is written
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
 * Notes that a session's lease is over and releases its claims (core, section 6.2). The caller has its lock alone.
 * @returns undefined when it isn't over, or was noted before
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
 * Releases the first claims of a session that was ended by this change, and notes it for the worker if more are left. A
 * claim whose task is locked by another transaction is left, too: an end waits for no task. Where one can't be released
 * all are left: the worker tries each alone.
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
  const released = await (undone && claimIds.length > 0
    ? undoneOnFailure(context, release, leave)
    : release());
  const leftCount = (await db.row(countActiveClaimsOfSession(tenantId, sessionId)))?.count ?? 0;
  if (leftCount > 0)
    await db.run(insertEnding({ id: newId(), tenantId, sessionId, principalId: null, reason }));
  return { releasedClaims: released.length + leftCount, releasedIds: released.map(({ id }) => id) };
}

/** Notes that a session's lease is over, unless others use it at this moment. @returns as `expireSession` */
export async function expireFreeSession(
  context: Context,
  sessionId: string,
  claimsMax = endingBatchMax,
): Promise<EndedSession | undefined> {
  const locked = await context.db.row(tryLockSession(context.tenantId, sessionId));
  return locked === undefined ? undefined : expireSession(context, sessionId, claimsMax);
}

/**
 * Ends a session whose delegation was revoked or ran out, for a command that shares its lock already, or has a task
 * locked: to wait for the others could deadlock. A session that others use is ended by its next use.
 */
export async function endUndelegatedSession(context: Context, sessionId: string): Promise<void> {
  const locked = await context.db.row(tryLockSession(context.tenantId, sessionId));
  if (locked !== undefined) await endSession(context, sessionId, 'delegation_ended');
}
