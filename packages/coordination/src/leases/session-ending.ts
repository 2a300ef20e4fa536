import { newId } from '@baton/kernel/ids';
import { emit } from '../ledger/journal/journal.ts';
import type { Context } from './context.ts';
import { endingBatchMax } from './lease-bounds.ts';
import type { SessionRow } from './lease-rows.ts';
import { sessionClosed, sessionExpired } from './leases.events.ts';
import {
  countActiveClaimsOfSession,
  findActiveClaimsOfSession,
  lockFreeClaimsOfSession,
} from './release.sql.ts';
import { releaseClaims } from './release.ts';
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

/** How much of a session's claims is released together with its end; the worker releases the others. */
interface FirstBatch {
  readonly claimsMax: number;
  /** Whether a claim whose task is locked by another transaction is left to the worker, too. */
  readonly skipsLocked: boolean;
}

const usualBatch: FirstBatch = { claimsMax: endingBatchMax, skipsLocked: false };

/**
 * Closes a session and releases its claims. The session is locked first and its claims are looked up after that, so a
 * claim made meanwhile is released too.
 * @param reason why, where no request asked for it (`principal_disabled`, `delegation_ended`): the reason of the released
 * claims too
 * @returns undefined when it was closed before; then nothing is written
 */
export async function endSession(
  context: Context,
  sessionId: string,
  reason?: string,
  batch = usualBatch,
): Promise<EndedSession | undefined> {
  const session = await context.db.row(updateSessionToClosed(context.tenantId, sessionId));
  if (session === undefined) return undefined;
  const ended = await releaseFirst(context, sessionId, reason ?? 'session_closed', batch);
  const payload = { releasedClaims: ended.releasedClaims, ...(reason !== undefined && { reason }) };
  emit(context, sessionClosed, { entityId: sessionId, sessionId }, payload);
  return { session, ...ended };
}

/**
 * Notes that a session's lease is over and releases its claims (core, section 6.2).
 * @returns undefined when it isn't over, or was noted before
 */
export async function expireSession(context: Context, sessionId: string): Promise<EndedSession | undefined> {
  const session = await context.db.row(updateSessionToStale(context.tenantId, sessionId));
  if (session === undefined) return undefined;
  const ended = await releaseFirst(context, sessionId, 'session_expired', usualBatch);
  const payload = { expiresAt: session.expires_at, releasedClaims: ended.releasedClaims };
  emit(context, sessionExpired, { entityId: sessionId, sessionId }, payload);
  return { session, ...ended };
}

/** Releases the first claims of a session that was ended by this change, and notes it for the worker if more are left. */
async function releaseFirst(context: Context, sessionId: string, reason: string, batch: FirstBatch) {
  const { db, tenantId } = context;
  const { claimsMax, skipsLocked } = batch;
  const find = skipsLocked ? lockFreeClaimsOfSession : findActiveClaimsOfSession;
  const found = await db.rows(find(tenantId, sessionId, claimsMax));
  const claimIds = found.map(({ id }) => id);
  const released = await releaseClaims(context, { claimIds }, { reason, taskStatusMove: true });
  const mayBeMore = skipsLocked || found.length === claimsMax;
  const left = mayBeMore ? await db.row(countActiveClaimsOfSession(tenantId, sessionId)) : undefined;
  const leftCount = left?.count ?? 0;
  if (leftCount > 0)
    await db.run(insertEnding({ id: newId(), tenantId, sessionId, principalId: null, reason }));
  return { releasedClaims: released.length + leftCount, releasedIds: released.map(({ id }) => id) };
}

/**
 * Ends a session whose delegation was revoked or ran out, for a command that has a task locked already. Everywhere else
 * the session is locked before the task, so to wait for it here could deadlock: a locked session is ended by its next use.
 */
export async function endUndelegatedSession(context: Context, sessionId: string): Promise<void> {
  const locked = await context.db.row(tryLockSession(context.tenantId, sessionId));
  if (locked !== undefined) await endSession(context, sessionId, 'delegation_ended');
}
