import { endBrowserSessions } from '../../directory/revocation/browser-sessions.ts';
import { recordedTransaction } from '../../records/journal/recorded-transaction.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { browserSessionOf, type OwnBrowserSessionList, type OwnSessionEnd } from './browser-session.ts';
import { findSession, findSessions } from './browser-sessions.sql.ts';
import { resolveSession } from './browser-sessions.ts';

/** @throws Refusal `invalid_token`, `rate_limited` */
export async function listOwnBrowserSessions(
  context: Context,
  secret: string,
): Promise<OwnBrowserSessionList> {
  const { row } = await resolveSession(context, secret, 'browser_sessions.use');
  const idleSecondsMax = context.settings.IAM_BROWSER_SESSION_IDLE_SECONDS;
  const rows = await context.db.rows(findSessions(row.tenant_id, row.principal_id, idleSecondsMax));
  return { items: rows.map(browserSessionOf), currentId: row.id };
}

/**
 * Ends a session of the person whose session is presented, including the presented one; repeating the call keeps the
 * first reason.
 * @throws Refusal `invalid_token`, `rate_limited`, `browser_session_not_found`
 */
export async function revokeOwnBrowserSession(
  context: Context,
  { token, browserSessionId, reason }: OwnSessionEnd,
): Promise<undefined> {
  const { row } = await resolveSession(context, token, 'browser_sessions.use');
  const { tenant_id: tenantId, principal_id: principalId } = row;
  await recordedTransaction(context, async (inside) => {
    const order = { tenantId, principalId, browserSessionId, reason, actor: principalId };
    if ((await endBrowserSessions(inside, order)) > 0) return;
    if ((await inside.db.row(findSession(tenantId, principalId, browserSessionId))) === undefined)
      fail('browser_session_not_found');
  });
}

/**
 * Ends every other session of the person in the tenant.
 * @throws Refusal `invalid_token`, `rate_limited`
 */
export async function revokeOtherBrowserSessions(
  context: Context,
  secret: string,
  reason: string,
): Promise<undefined> {
  const { row } = await resolveSession(context, secret, 'browser_sessions.use');
  const { tenant_id: tenantId, principal_id: principalId } = row;
  await recordedTransaction(context, async (inside) => {
    await endBrowserSessions(inside, { tenantId, principalId, exceptId: row.id, reason, actor: principalId });
  });
}
