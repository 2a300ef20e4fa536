import { randomUUID } from 'node:crypto';
import { isMember } from '../../directory/principals/principals.ts';
import { endBrowserSessions } from '../../directory/revocation/browser-sessions.ts';
import { presentSession, refuseCredential, resolveCredential } from '../../issuing/exchange/resolve.ts';
import { audit } from '../../records/audit.ts';
import type { AuditAction } from '../../records/drafts.ts';
import { emit } from '../../records/journal/journal.ts';
import { makeLongSecret } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  type BrowserSession,
  browserSessionOf,
  type PresentedSessionRow,
  sessionsPerPersonMax,
} from './browser-session.ts';
import { browserSessionStarted } from './browser-sessions.events.ts';
import { findPresentedSession, findSession, findSessions, insertSession } from './browser-sessions.sql.ts';

/** The last use is stored again only when the stored one is older than this. */
const usedEverySeconds = 30;

/** The sign-in with which a session begins, stored in the same transaction. */
export interface SessionStart {
  readonly tenantId: string;
  readonly principalId: string;
  readonly externalIdentityId: string;
  readonly authenticationContextId: string;
  readonly passkeyId: string | null;
  readonly clientId: string;
  readonly acr: string | null;
  readonly authTime: string;
}

/**
 * Begins a browser session. Call it with the principal's row locked. If a person then has more than 20 live sessions,
 * the oldest ones end.
 */
export async function startBrowserSession(
  context: Context,
  start: SessionStart,
): Promise<{ token: string; session: BrowserSession }> {
  const { db, settings } = context;
  const { tenantId, principalId, clientId } = start;
  const { token, ...secret } = makeLongSecret('ses');
  const row = await db.row(
    insertSession({
      id: randomUUID(),
      ...start,
      ...secret,
      lifetimeSeconds: settings.IAM_BROWSER_SESSION_MAX_SECONDS,
      idleSecondsMax: settings.IAM_BROWSER_SESSION_IDLE_SECONDS,
    }),
  );
  const session = browserSessionOf(row as NonNullable<typeof row>);
  const { id: browserSessionId, publicPrefix } = session;
  const about = { tenantId, aggregateId: browserSessionId };
  emit(context, browserSessionStarted, about, { browserSessionId, principalId, publicPrefix, clientId });
  audit(context, {
    tenantId,
    action: 'browser_sessions.issue',
    resource: ['browser_session', browserSessionId],
    reason: `session:${publicPrefix} client:${clientId}`,
    actor: principalId,
  });
  await endBrowserSessions(context, {
    principalId,
    reason: 'replaced',
    keptMax: sessionsPerPersonMax,
    actor: principalId,
  });
  return { token, session };
}

/** A presented session that is live, and how it was presented. */
export interface ResolvedSession {
  readonly row: PresentedSessionRow;
  readonly presented: ReturnType<typeof presentSession>;
}

/**
 * The live session with this secret.
 * @param audience of the requested access token; null if none is requested
 * @throws Refusal `invalid_token`, `rate_limited`
 */
export async function resolveSession(
  context: Context,
  secret: string,
  action: AuditAction,
  audience: string | null = null,
): Promise<ResolvedSession> {
  const presented = presentSession(context, secret, action);
  const row = await resolveCredential(context, presented, findPresented(context, presented, audience));
  return { row, presented };
}

function findPresented(
  { db, settings }: Context,
  { publicPrefix }: ReturnType<typeof presentSession>,
  audience: string | null,
): Promise<PresentedSessionRow | undefined> | undefined {
  const idleSecondsMax = settings.IAM_BROWSER_SESSION_IDLE_SECONDS;
  return publicPrefix === undefined
    ? undefined
    : db.row(findPresentedSession(publicPrefix, audience, idleSecondsMax, usedEverySeconds));
}

/**
 * Ends the presented session; presenting it again is refused as for any session that has ended.
 * @throws Refusal `invalid_token`, `rate_limited`
 */
export async function endOwnBrowserSession(
  context: Context,
  secret: string,
  reason: string,
): Promise<undefined> {
  const presented = presentSession(context, secret, 'browser_sessions.revoke', 'in transaction');
  const row = await resolveCredential(context, presented, findPresented(context, presented, null));
  const { id: browserSessionId, principal_id: principalId } = row;
  const order = { principalId, browserSessionId, reason, actor: principalId };
  // Another request may end it between the read and the update.
  if ((await endBrowserSessions(context, order)) === 0)
    return refuseCredential(context, presented, row, 'session_ended');
  context.counters.presented('session', 'revoked');
}

/** @throws Refusal `principal_not_found` */
export async function listBrowserSessions(
  { db, settings }: Context,
  tenantId: string,
  principalId: string,
): Promise<{ items: BrowserSession[] }> {
  if (!(await isMember(db, tenantId, principalId))) fail('principal_not_found');
  const rows = await db.rows(findSessions(tenantId, principalId, settings.IAM_BROWSER_SESSION_IDLE_SECONDS));
  return { items: rows.map(browserSessionOf) };
}

/**
 * Ends a session; repeating the call changes nothing and keeps the first reason.
 * @throws Refusal `browser_session_not_found`
 */
export async function revokeBrowserSession(
  context: Context,
  order: { tenantId: string; principalId: string; browserSessionId: string; reason: string },
): Promise<undefined> {
  if ((await endBrowserSessions(context, order)) > 0) return;
  const { tenantId, principalId, browserSessionId } = order;
  if ((await context.db.row(findSession(tenantId, principalId, browserSessionId))) === undefined)
    fail('browser_session_not_found');
}
