import { revokeToken } from '../../directory/revocation/revocation.ts';
import { auditDraft } from '../../records/audit.ts';
import type { Context } from '../context.ts';
import { lookUpTokens } from '../exchange/credential-lookup.ts';
import { auditEntryOf, presentToken, refuseCredential, resolveCredential } from '../exchange/resolve.ts';
import { type Introspection, introspectionOf } from './introspection.ts';

/**
 * Introspects a token without changing its last use.
 * @throws Refusal `invalid_token`, `rate_limited`
 */
export async function introspectPlatformAccessToken(
  context: Context,
  secret: string,
): Promise<Introspection> {
  const presented = presentToken(context, secret, 'platform_access_tokens.introspect');
  const { token } = presented;
  const row = await resolveCredential(
    context,
    presented,
    token && context.presentedTokens.call({ ...token, audience: null }),
  );
  await context.ledger.record({ audit: auditDraft(context, auditEntryOf(presented, row, 'allowed')) });
  context.counters.presented('pat', 'introspected');
  return introspectionOf(row);
}

/**
 * Revokes the token that is presented (see docs/reference/tokens.md#revoke-your-own-token); a second attempt is refused
 * like any revoked token.
 * @throws Refusal `invalid_token`, `rate_limited`
 */
export async function revokeOwnPlatformAccessToken(
  context: Context,
  secret: string,
  reason: string,
): Promise<undefined> {
  const { db, settings } = context;
  const presented = presentToken(context, secret, 'platform_access_tokens.revoke', 'in transaction');
  const { token } = presented;
  const found = token && lookUpTokens(db, settings, [{ ...token, audience: null }]).then(([row]) => row);
  const row = await resolveCredential(context, presented, found);
  const order = { tenantId: row.tenant_id, credentialId: row.id, reason, actor: row.principal_id };
  // Another request may revoke the token between the read and the update.
  if (!(await revokeToken(context, order)))
    return refuseCredential(context, presented, row, 'credential_revoked');
  context.counters.presented('pat', 'revoked');
}
