import { endBrowserSessions } from '../../directory/revocation/browser-sessions.ts';
import { recordedTransaction } from '../../records/journal/recorded-transaction.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  browserSessionOf,
  type OtherSessionsEnd,
  type OwnBrowserSessionList,
  type OwnSessionEnd,
} from './browser-session.ts';
import { findSession, findSessions } from './browser-sessions.sql.ts';
import { resolveSession } from './browser-sessions.ts';
import { lockSignedIn, refuseOldSignIn } from './recent-sign-in.ts';

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
 * Ends a session of the person whose session is presented; repeating the call keeps the first reason. Only the presented
 * session can be ended without a recent sign-in: otherwise a thief could keep a stolen session and end the others.
 * @throws Refusal `invalid_token`, `rate_limited`, `authentication_context_expired`, `browser_session_not_found`
 */
export async function revokeOwnBrowserSession(
  context: Context,
  { token, browserSessionId, reason }: OwnSessionEnd,
): Promise<undefined> {
  const resolved = await resolveSession(context, token, 'browser_sessions.revoke');
  const { row } = resolved;
  if (browserSessionId !== row.id) await refuseOldSignIn(context, resolved);
  const { tenant_id: tenantId, principal_id: principalId } = row;
  await recordedTransaction(context, async (inside) => {
    await lockSignedIn(inside, row);
    const order = { tenantId, principalId, browserSessionId, reason, actor: principalId };
    if ((await endBrowserSessions(inside, order)) > 0) return;
    if ((await inside.db.row(findSession(tenantId, principalId, browserSessionId))) === undefined)
      fail('browser_session_not_found');
  });
}

/**
 * Ends every other session of the person in the tenant and, with `withThis`, the presented one, too; that requires no
 * recent sign-in.
 * @throws Refusal `invalid_token`, `rate_limited`, `authentication_context_expired`
 */
export async function revokeOtherBrowserSessions(
  context: Context,
  { token, reason, withThis }: OtherSessionsEnd,
): Promise<undefined> {
  const resolved = await resolveSession(context, token, 'browser_sessions.revoke');
  const { row } = resolved;
  if (!withThis) await refuseOldSignIn(context, resolved);
  const { tenant_id: tenantId, principal_id: principalId } = row;
  const others = withThis ? {} : { exceptId: row.id };
  await recordedTransaction(context, async (inside) => {
    await lockSignedIn(inside, row);
    await endBrowserSessions(inside, { tenantId, principalId, ...others, reason, actor: principalId });
  });
}
