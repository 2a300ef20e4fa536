import { revokeToken } from '../../../directory/revocation/revocation.ts';
import { recordedTransaction } from '../../../records/journal/recorded-transaction.ts';
import { resolveSession } from '../../browser-sessions/browser-sessions.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { type OwnGrantEnd, type OwnGrantList, ownGrantOf } from './own-grant.ts';
import { findOwnGrant, findOwnGrants } from './own-grants.sql.ts';

/** More than a person can have with the highest limit of the setting. */
const grantsShownMax = 1000;

/** @throws Refusal `invalid_token`, `rate_limited` */
export async function listOwnGrants(context: Context, secret: string): Promise<OwnGrantList> {
  const { row } = await resolveSession(context, secret, 'browser_sessions.use');
  const rows = await context.db.rows(findOwnGrants(row.tenant_id, row.principal_id, grantsShownMax));
  return { items: rows.map(ownGrantOf) };
}

/**
 * Ends a grant of the person whose session is presented, with its access tokens; a repetition keeps the first reason.
 * @throws Refusal `invalid_token`, `rate_limited`, `oauth_grant_not_found`
 */
export async function revokeOwnGrant(
  context: Context,
  { token, grantId, reason }: OwnGrantEnd,
): Promise<undefined> {
  const { row } = await resolveSession(context, token, 'browser_sessions.use');
  const { tenant_id: tenantId, principal_id: actor } = row;
  await recordedTransaction(context, async (inside) => {
    if ((await inside.db.row(findOwnGrant(tenantId, actor, grantId))) === undefined)
      fail('oauth_grant_not_found');
    await revokeToken(inside, { tenantId, credentialId: grantId, reason, actor });
  });
}
