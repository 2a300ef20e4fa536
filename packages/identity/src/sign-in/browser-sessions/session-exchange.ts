import { randomUUID } from 'node:crypto';
import type { SigningAlgorithm } from '../../directory/audiences/audience.ts';
import { signAccessToken } from '../../issuing/exchange/access-token.ts';
import type { TokenExchange } from '../../issuing/exchange/exchange.ts';
import { auditEntryOf, refuseRequest } from '../../issuing/exchange/resolve.ts';
import { auditDraft } from '../../records/audit.ts';
import { isScope, sortedSet } from '../../service/fields.ts';
import type { Context } from '../context.ts';
import type { SessionExchangeRequest } from './browser-session.ts';
import { updateSessionUsed } from './browser-sessions.sql.ts';
import { resolveSession } from './browser-sessions.ts';

/**
 * Exchanges a browser session for an access token of one audience (see docs/reference/browser-sessions.md#exchange). A
 * session lasts for days, so it never gets privileged scopes.
 * @throws Refusal `invalid_token`, `audience_not_allowed`, `scope_not_allowed`, `rate_limited`, `unavailable`
 */
export async function exchangeBrowserSession(
  context: Context,
  { token, audience, scopes }: SessionExchangeRequest,
): Promise<TokenExchange> {
  const { settings, signingKeys, db } = context;
  signingKeys.current();
  const { row, presented } = await resolveSession(context, token, 'browser_sessions.exchange', audience);
  const asked = `audience:${audience}`;
  const { allowed_scopes: allowed, signing_algorithm: algorithm } = row;
  if (allowed === null) return refuseRequest(context, presented, row, 'audience_not_allowed', asked);
  const scopeCeiling = sortedSet(
    allowed.filter((scope) => isScope(scope) && !settings.privilegedScopes.has(scope)),
  );
  if (!scopes.every((scope) => scopeCeiling.includes(scope)))
    return refuseRequest(context, presented, row, 'scope_not_allowed', asked);

  const sessionId = randomUUID();
  const scope = scopes.length === 0 ? scopeCeiling : scopes;
  const signing = signAccessToken(context, {
    tenantId: row.tenant_id,
    principalId: row.principal_id,
    principalKind: row.principal_kind,
    credentialId: row.id,
    clientId: row.client_id,
    audience,
    // Not null, because the session's audience was found.
    algorithm: algorithm as SigningAlgorithm,
    scope,
    nowSeconds: row.now_seconds,
    session: { id: sessionId, scopeCeiling },
    authTime: row.auth_time,
    acr: row.acr,
  });
  const reason = `${asked} session:${sessionId}`;
  const recording = context.ledger.record({
    audit: auditDraft(context, auditEntryOf(presented, row, 'allowed', reason)),
  });
  const using = row.is_use_due ? db.run(updateSessionUsed(row.id)) : undefined;
  const [accessToken] = await Promise.all([signing, recording, using]);
  context.counters.presented('session', 'exchanged');
  return {
    accessToken,
    tokenType: 'Bearer',
    expiresIn: settings.IAM_TOKEN_TTL_SECONDS,
    audience,
    scope,
    sessionId,
  };
}
