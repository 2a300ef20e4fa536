import { emit } from '../ledger/journal/journal.ts';
import type { Context } from './context.ts';
import type { SessionRow } from './lease-rows.ts';
import { sessionClosed, sessionExpired } from './leases.events.ts';
import { releaseClaims } from './release.ts';
import { tryLockSession, updateSessionToClosed, updateSessionToStale } from './session-ending.sql.ts';

/** A session that ended just now, and how many claims went with it. */
export interface EndedSession {
  readonly session: SessionRow;
  readonly releasedClaims: number;
}

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
): Promise<EndedSession | undefined> {
  const session = await context.db.row(updateSessionToClosed(context.tenantId, sessionId));
  if (session === undefined) return undefined;
  const released = await releaseClaims(
    context,
    { sessionId },
    { reason: reason ?? 'session_closed', taskStatusMove: true },
  );
  const payload = { releasedClaims: released.length, ...(reason !== undefined && { reason }) };
  emit(context, sessionClosed, { entityId: sessionId, sessionId }, payload);
  return { session, releasedClaims: released.length };
}

/**
 * Notes that a session's lease is over and releases its claims (core, section 6.2).
 * @returns undefined when it isn't over, or was noted before
 */
export async function expireSession(context: Context, sessionId: string): Promise<EndedSession | undefined> {
  const session = await context.db.row(updateSessionToStale(context.tenantId, sessionId));
  if (session === undefined) return undefined;
  const released = await releaseClaims(
    context,
    { sessionId },
    { reason: 'session_expired', taskStatusMove: true },
  );
  const payload = { expiresAt: session.expires_at, releasedClaims: released.length };
  emit(context, sessionExpired, { entityId: sessionId, sessionId }, payload);
  return { session, releasedClaims: released.length };
}

/**
 * Ends a session whose delegation was revoked or ran out, for a command that has a task locked already. Everywhere else
 * the session is locked before the task, so to wait for it here could deadlock: a locked session is ended by its next use.
 */
export async function endUndelegatedSession(context: Context, sessionId: string): Promise<void> {
  const locked = await context.db.row(tryLockSession(context.tenantId, sessionId));
  if (locked !== undefined) await endSession(context, sessionId, 'delegation_ended');
}
