import type { Db } from '@baton/kernel/database/db';
import { Refusal } from '@baton/kernel/http/refusal';
import { observer } from '@baton/kernel/process/observer';
import { exchangeGrant } from '../../issuing/exchange/exchanges.ts';
import { secretHash } from '../../service/secrets.ts';
import { requireDecidingSession } from '../browser-sessions/deciding-session.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findLiveGrant, type LiveGrantRow } from './oauth-grants.sql.ts';
import { audienceOf, revokeGrant } from './oauth-grants.ts';
import { findSuccessor, updateRedeemed } from './oauth-handles.sql.ts';
import type { HandleKind, ProviderState, Redemption } from './provider/provider-state.ts';
import {
  isTokenOf,
  makeRefreshToken,
  namedGrantOf,
  type RefreshedGrant,
  successorsOf,
} from './sealed/refresh-tokens.ts';

/**
 * Codes and refresh tokens are redeemed in one statement, after everything has been checked and the access token has
 * been signed (see docs/reference/oauth.md#codes-and-refresh-tokens). A failure before that statement uses up nothing.
 */

/** A client whose response was lost gets the same refresh token again for this long. */
const repeatSeconds = 30;

/**
 * Checks the grant of a code or a refresh token and signs its access token, before the handle is used up.
 * @param found the payload of the handle
 * @throws Refusal `invalid_grant`, `audience_not_allowed`, `scope_not_allowed`, `unavailable`
 */
export async function prepareRedemption(
  context: Context,
  kind: HandleKind,
  handle: string,
  { found = {}, scopes = [] }: Pick<ProviderState, 'found' | 'scopes'>,
): Promise<Redemption> {
  const row = await context.pool.row(findLiveGrant(String(found['grantId'])));
  if (row === undefined) return fail('invalid_grant', {}, { reason: 'the grant has ended' });
  if (kind !== 'RefreshToken') await requireLiveDecision(context, row);
  const audience = audienceOf(context, row.resource);
  const { accessToken, expiresIn, scope } = await exchangeGrant(context, {
    publicPrefix: row.public_prefix,
    audience,
    scopes,
  });
  return { kind, handle, grant: refreshedGrantOf(row), minted: { accessToken, expiresIn, scope } };
}

/**
 * Uses up the handle. A refresh token that was used in the last 30 s, and whose successor is unused, may be used again.
 * @returns the refresh token that replaces it; undefined for a client without refresh tokens
 * @throws Refusal `invalid_grant`
 */
export async function completeRedemption(
  context: Context,
  { kind, handle, grant, issued }: Redemption,
): Promise<string | undefined> {
  const { credentialId } = grant;
  const token = kind === 'RefreshToken' ? successorsOf(context, grant, handle)[0] : makeRefreshToken(grant);
  const made = issued && { ...issued, handleHash: secretHash(token as string) };
  const order = { kind, handleHash: secretHash(handle), credentialId, issued: made };
  if (issued !== undefined) observer()?.made('RefreshToken', token as string);
  if ((await context.pool.row(updateRedeemed(order))) !== undefined) return issued && token;
  const same = kind === 'RefreshToken' ? await repeatedSuccessor(context, grant, handle) : undefined;
  if (same !== undefined) return same;
  const row = await context.pool.row(findLiveGrant(credentialId));
  if (row !== undefined && kind !== 'RefreshToken') await requireLiveDecision(context, row);
  await revokeGrant(context, credentialId, 'handle_reused');
  return fail('invalid_grant', {}, { reason: 'used at the same time' });
}

/** The refresh token that replaced this one, if the client may get it again. */
export async function repeatedSuccessor(
  context: Context,
  grant: RefreshedGrant,
  refreshToken: string,
): Promise<string | undefined> {
  const successors = successorsOf(context, grant, refreshToken);
  const hashes = successors.map(secretHash);
  const found = await context.pool.row(findSuccessor(secretHash(refreshToken), hashes, repeatSeconds));
  return found && successors[hashes.indexOf(found.handle_hash)];
}

/** The live grant of a refresh token that has no row any more; undefined if it was never issued. */
export async function grantOfFormerToken(db: Db, refreshToken: string): Promise<LiveGrantRow | undefined> {
  const credentialId = namedGrantOf(refreshToken);
  const row = credentialId && (await db.row(findLiveGrant(credentialId)));
  return row && isTokenOf(refreshedGrantOf(row), refreshToken) ? row : undefined;
}

/**
 * A code whose person has signed out since the decision, or may no longer sign in, ends its grant.
 * @throws Refusal `invalid_grant`
 */
async function requireLiveDecision(context: Context, row: LiveGrantRow): Promise<void> {
  const { tenant_id: tenantId, granted_by: personId, browser_session_id: sessionId } = row;
  try {
    if (sessionId === null) fail('invalid_token', {}, { reason: 'unknown session' });
    const inside = { settings: context.settings, db: context.pool };
    await requireDecidingSession(inside, { tenantId, personId, sessionId }, row.created_at);
  } catch (error) {
    const isEnded =
      error instanceof Refusal && ['invalid_token', 'authentication_context_expired'].includes(error.code);
    if (!isEnded) throw error;
    await revokeGrant(context, row.credential_id, 'session_ended');
    fail('invalid_grant', {}, { reason: 'the session in which the person decided has ended' });
  }
}

function refreshedGrantOf({ credential_id: credentialId, secret_hash: hash }: LiveGrantRow): RefreshedGrant {
  return { credentialId, secretHash: hash };
}
