import { lockMember } from '../../directory/principals/principals.ts';
import { refuseRequest } from '../../issuing/exchange/resolve.ts';
import type { AuditAction } from '../../records/drafts.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { PresentedSessionRow } from './browser-session.ts';
import { shareLiveSession } from './browser-sessions.sql.ts';
import { type ResolvedSession, resolveSession } from './browser-sessions.ts';

/**
 * Resolves the session of a person who changes how they sign in. A session lasts for days, so its secret alone must not
 * suffice: somebody who steals it could lock the person out, or make their own access permanent.
 * @throws Refusal `invalid_token`, `rate_limited`, `authentication_context_expired`
 */
export async function resolveRecentSession(
  context: Context,
  secret: string,
  action: AuditAction,
): Promise<PresentedSessionRow> {
  const resolved = await resolveSession(context, secret, action);
  await refuseOldSignIn(context, resolved);
  return resolved.row;
}

/**
 * Refuses a session whose sign-in is too old, or whose provider doesn't prove the time of the sign-in. The refusal is
 * audited: the person may not know that somebody has their session.
 * @throws Refusal `authentication_context_expired`
 */
export async function refuseOldSignIn(context: Context, { row, presented }: ResolvedSession): Promise<void> {
  if (!isRecentSignIn(context.settings, row))
    await refuseRequest(context, presented, row, 'authentication_context_expired');
}

/**
 * Locks the person of a presented session, and checks both again. Everything that ends sessions of a person by itself
 * (a disable, a recovery) holds the same lock, so a session that has ended meanwhile changes nothing more.
 * @throws Refusal `invalid_token`
 */
export async function lockSignedIn({ db }: Context, row: PresentedSessionRow): Promise<void> {
  const person = await lockMember(db, row.tenant_id, row.principal_id);
  if (person?.status !== 'active') fail('invalid_token', {}, { reason: 'principal_not_active' });
  if ((await db.row(shareLiveSession(row.id))) === undefined)
    fail('invalid_token', {}, { reason: 'session_ended' });
}

/**
 * The same rule as for issuing a platform access token: the change gives equivalent access. If a provider doesn't
 * state the time, it may have signed the person in long ago.
 */
export function isRecentSignIn(
  { IAM_PAT_MAX_AUTHENTICATION_AGE_SECONDS: ageSecondsMax }: Context['settings'],
  {
    auth_age_seconds: age,
    is_time_proven: isProven,
  }: Pick<PresentedSessionRow, 'auth_age_seconds' | 'is_time_proven'>,
): boolean {
  return isProven && age <= ageSecondsMax;
}
