import type { Db } from '@baton/kernel/database/db';
import type { SignInSnapshot } from '../../credentials/platform-access-tokens/platform-access-token.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { PresentedSessionRow } from './browser-session.ts';
import { shareDecidingSession, updateSessionExpiry, updateSessionUsed } from './browser-sessions.sql.ts';
import { isRecentSignIn } from './recent-sign-in.ts';

/** The session in which a person decides about an OAuth client. */
interface DecidingSession {
  readonly sessionId: string;
  readonly tenantId: string;
  readonly personId: string;
}

/**
 * Checks again that the session in which a person decided is live, and that its sign-in was recent at that time. Until
 * the transaction ends, the session can't be ended.
 * @param decidedAt by default now
 * @returns the sign-in of the session, on which the credential is based
 * @throws Refusal `invalid_token`, `authentication_context_expired`
 */
export async function requireDecidingSession(
  { db, settings }: Pick<Context, 'settings'> & { readonly db: Db },
  { sessionId, tenantId, personId }: DecidingSession,
  decidedAt?: string,
): Promise<SignInSnapshot> {
  const idleSecondsMax = settings.IAM_BROWSER_SESSION_IDLE_SECONDS;
  const row = await db.row(shareDecidingSession(sessionId, idleSecondsMax, decidedAt ?? null));
  if (row === undefined || row.tenant_id !== tenantId || row.principal_id !== personId)
    return fail('invalid_token', {}, { reason: 'unknown session' });
  if (row.refusal !== null) fail('invalid_token', {}, { reason: row.refusal });
  if (!isRecentSignIn(settings, row)) fail('authentication_context_expired');
  return {
    origin: 'sign_in',
    authentication_context_id: row.authentication_context_id,
    auth_issuer: row.auth_issuer,
    acr: row.acr,
    amr: row.amr,
    auth_time: row.auth_time,
  };
}

/** Records that a person used the session, so that it does not count as idle when the decision is redeemed. */
export async function noteDecision(
  db: Db,
  { id, is_use_due: isDue }: Pick<PresentedSessionRow, 'id' | 'is_use_due'>,
): Promise<void> {
  if (isDue) await db.run(updateSessionUsed(id));
}

/** Lets a session that exists for one decision expire when nobody can redeem that decision any more. */
export async function shortenDecidingSession(
  db: Db,
  sessionId: string,
  lifetimeSeconds: number,
): Promise<void> {
  await db.run(updateSessionExpiry(sessionId, lifetimeSeconds));
}
