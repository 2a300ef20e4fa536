import { randomUUID } from 'node:crypto';
import { audit, type AuditEntry, auditDraft } from '../../records/audit.ts';
import type { Context } from '../context.ts';
import { revokeToken } from '../../directory/revocation/revocation.ts';
import { sortedSet } from '../../service/fields.ts';
import { isSecretOf, parsePresentedToken, type PresentedToken } from '../../service/secrets.ts';
import { fail } from '../errors.ts';
import { signAccessToken } from '../token-exchange/access-token.ts';
import type { ExchangeRequest } from './presented.api.ts';
import { lookUpPresented } from './presented-lookup.ts';
import type { PresentedRow } from './presented.sql.ts';

/**
 * The bearer of a token, who may be refused yet. What isn't a token of ours, or carries a wrong secret, is refused here:
 * it belongs to no tenant, so nothing is audited; it is counted, and logged by its public prefix.
 */
async function identifyBearer(
  { counters }: Context,
  token: string,
  lookUp: (presented: PresentedToken) => Promise<PresentedRow | undefined>,
): Promise<PresentedRow> {
  const parsed = parsePresentedToken(token);
  const row = parsed && (await lookUp(parsed));
  const isGenuine = isSecretOf(token, row?.secret_hash);
  if (row !== undefined && isGenuine) return row;
  counters.presented('pat', 'unknown');
  if (parsed === undefined) fail('invalid_token', {}, { reason: 'no_token_of_ours' });
  const what = row === undefined ? 'unknown_prefix' : 'wrong_secret';
  return fail('invalid_token', {}, { reason: `pat:${parsed.publicPrefix} ${what}` });
}

/** Exchanges a token for an access token of one audience (contract, section 8.2). */
export async function exchangeToken(context: Context, { token, audience, scopes }: ExchangeRequest) {
  const { settings, signingKeys, presentedTokens, ledger, counters } = context;
  signingKeys.current();
  const bearer = await identifyBearer(context, token, (presented) =>
    presentedTokens.call({ ...presented, audience }),
  );
  const action = 'platform_access_tokens.exchange';
  const refuse = async (
    code: 'invalid_token' | 'audience_not_allowed' | 'scope_not_allowed',
    reason: string,
  ) => {
    counters.presented('pat', bearer.refusal ?? code);
    await ledger.record({ audit: auditDraft(context, auditOf(bearer, action, 'denied', reason)) });
    return fail(code, {}, { reason: `pat:${bearer.public_prefix} ${reason}` });
  };
  if (bearer.refusal !== null) return refuse('invalid_token', bearer.refusal);
  if (!bearer.audiences.includes(audience) || bearer.allowed_scopes === null)
    return refuse('audience_not_allowed', `audience:${audience} audience_not_allowed`);
  const scopeCeiling = ceilingOf(bearer.scope_ceiling, bearer.allowed_scopes, settings.privilegedScopes);
  if (scopes.some((scope) => !scopeCeiling.includes(scope)))
    return refuse('scope_not_allowed', `audience:${audience} scope_not_allowed`);

  const scope = scopes.length === 0 ? scopeCeiling : scopes;
  const sessionId = randomUUID();
  // Signed while it is recorded: whoever can't be signed for is refused before that (decision 0103).
  const signing = signAccessToken(context, {
    tenantId: bearer.tenant_id,
    principalId: bearer.principal_id,
    principalKind: bearer.principal_kind,
    credentialId: bearer.id,
    audience,
    scope,
    nowSeconds: bearer.now_seconds,
    session: { id: sessionId, scopeCeiling },
    authTime: bearer.auth_time,
    acr: bearer.acr,
  });
  const reason = `audience:${audience} session:${sessionId}`;
  const recording = ledger.record({
    audit: auditDraft(context, auditOf(bearer, action, 'allowed', reason)),
    used: bearer.is_use_due ? ['platform_access_token', bearer.id] : undefined,
  });
  const [accessToken] = await Promise.all([signing, recording]);
  counters.presented('pat', 'exchanged');
  const expiresIn = settings.IAM_TOKEN_TTL_SECONDS;
  return { accessToken, tokenType: 'Bearer' as const, expiresIn, audience, scope, sessionId };
}

/** Says what a token is; its last use stays as it was (contract, section 8.3). */
export async function introspectToken(context: Context, token: string) {
  const bearer = await identifyBearer(context, token, (presented) =>
    context.presentedTokens.call({ ...presented, audience: null }),
  );
  const { refusal } = bearer;
  const entry = auditOf(
    bearer,
    'platform_access_tokens.introspect',
    refusal === null ? 'allowed' : 'denied',
    refusal ?? '',
  );
  await context.ledger.record({ audit: auditDraft(context, entry) });
  context.counters.presented('pat', refusal ?? 'introspected');
  if (refusal !== null) fail('invalid_token', {}, { reason: `pat:${bearer.public_prefix} ${refusal}` });
  return {
    tenantId: bearer.tenant_id,
    principalId: bearer.principal_id,
    principalKind: bearer.principal_kind,
    displayName: bearer.display_name,
    credentialId: bearer.id,
    name: bearer.name,
    publicPrefix: bearer.public_prefix,
    audiences: bearer.audiences,
    scopeCeiling: bearer.scope_ceiling,
    expiresAt: bearer.expires_at,
    issuedAt: bearer.created_at,
  };
}

/** Revokes the token that is presented (contract, section 8.4); presenting it again is refused like any dead token. */
export async function revokePresentedToken(
  context: Context,
  token: string,
  reason: string,
): Promise<undefined> {
  const { db, settings } = context;
  const bearer = await identifyBearer(context, token, async (presented) => {
    const [row] = await lookUpPresented(db, settings, [{ ...presented, audience: null }]);
    return row;
  });
  const order = { tenantId: bearer.tenant_id, credentialId: bearer.id, reason, actor: bearer.principal_id };
  // A rival may revoke it between the read and the update.
  const refusal = bearer.refusal ?? ((await revokeToken(context, order)) ? null : 'credential_revoked');
  context.counters.presented('pat', refusal ?? 'revoked');
  if (refusal === null) return;
  audit(context, auditOf(bearer, 'platform_access_tokens.revoke', 'denied', refusal));
  fail('invalid_token', {}, { commits: true, reason: `pat:${bearer.public_prefix} ${refusal}` });
}

/** What both sides allow, without what a token can never prove: membership in a privileged group. */
function ceilingOf(
  scopeCeiling: readonly string[],
  allowedScopes: readonly string[],
  privilegedScopes: ReadonlyMap<string, string>,
): string[] {
  return sortedSet(
    scopeCeiling.filter((scope) => allowedScopes.includes(scope) && !privilegedScopes.has(scope)),
  );
}

function auditOf(
  bearer: PresentedRow,
  action: AuditEntry['action'],
  outcome: 'allowed' | 'denied',
  reason: string,
): AuditEntry {
  return {
    tenantId: bearer.tenant_id,
    action,
    resource: ['platform_access_token', bearer.id],
    outcome,
    reason: `pat:${bearer.public_prefix}${reason === '' ? '' : ` ${reason}`}`,
    actor: bearer.principal_id,
  };
}
