import { randomUUID } from 'node:crypto';
import type { SigningAlgorithm } from '../../directory/audiences/audience.ts';
import { auditDraft } from '../../records/audit.ts';
import { isScope, sortedSet } from '../../service/fields.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Grant, signAccessToken } from './access-token.ts';
import type { CredentialRow, TokenRow } from './credential.ts';
import type {
  ClientExchange,
  ClientExchangeRequest,
  TokenExchange,
  TokenExchangeRequest,
} from './exchange.ts';
import {
  auditEntryOf,
  type Presented,
  presentClient,
  presentToken,
  refuseCredential,
  refuseRequest,
  resolveCredential,
  usedBy,
} from './resolve.ts';

/**
 * Every exchange has the same steps: parse the credential, look it up, check it, determine the audience and the scopes,
 * and finally sign the token while the audit row is written. Without a signing key, nothing is looked up or recorded.
 */

/**
 * Exchanges a platform access token for an access token for one audience (see docs/reference/tokens.md#exchange).
 * @throws Refusal `invalid_token`, `audience_not_allowed`, `scope_not_allowed`, `rate_limited`, `unavailable`
 */
export async function exchangePlatformAccessToken(
  context: Context,
  { token: secret, audience, scopes }: TokenExchangeRequest,
): Promise<TokenExchange> {
  const { signingKeys, presentedTokens } = context;
  const presented = presentToken(context, secret, 'platform_access_tokens.exchange');
  signingKeys.current();
  const { token } = presented;
  const row = await resolveCredential(
    context,
    presented,
    token && presentedTokens.call({ ...token, audience }),
  );

  return issueToken(context, presented, row, audience, scopes);
}

/**
 * Issues an access token of a grant to an OAuth client. The caller has checked the code or the refresh token.
 * @throws Refusal `invalid_token`, `audience_not_allowed`, `scope_not_allowed`, `unavailable`
 */
export async function exchangeGrant(
  context: Context,
  { publicPrefix, audience, scopes }: { publicPrefix: string; audience: string; scopes: readonly string[] },
): Promise<TokenExchange> {
  context.signingKeys.current();
  const presented: Presented = {
    kind: 'pat',
    action: 'platform_access_tokens.exchange',
    secret: '',
    publicName: undefined,
    reasonPrefix: `oauth:${publicPrefix}`,
    writesDenials: 'by ledger',
  };
  const row = await context.presentedTokens.call({ kind: 'oauth_grant', publicPrefix, audience });
  if (row === undefined) return fail('invalid_token', {}, { reason: 'unknown grant' });
  if (row.refusal !== null) return refuseCredential(context, presented, row, row.refusal);
  return issueToken(context, presented, row, audience, scopes);
}

async function issueToken(
  context: Context,
  presented: Presented,
  row: TokenRow,
  audience: string,
  scopes: readonly string[],
): Promise<TokenExchange> {
  const { settings } = context;
  // A token can't prove a membership, so it never gets privileged scopes.
  const grantable = grantableScopes(row, audience, scopes, (scope) => settings.privilegedScopes.has(scope));
  if (typeof grantable === 'string')
    return refuseRequest(context, presented, row, grantable, `audience:${audience}`);

  const scopeCeiling = sortedSet(grantable);
  const scope = scopes.length === 0 ? scopeCeiling : [...scopes];
  const sessionId = randomUUID();
  const grant = {
    audience,
    scope,
    principalKind: row.principal_kind,
    session: { id: sessionId, scopeCeiling },
    authTime: row.auth_time,
    acr: row.acr,
  };
  const reason = `audience:${audience} session:${sessionId}`;
  const accessToken = await signAndRecord(context, presented, row, grant, reason);
  const expiresIn = settings.IAM_TOKEN_TTL_SECONDS;
  return { accessToken, tokenType: 'Bearer', expiresIn, audience, scope, sessionId };
}

/**
 * Exchanges client credentials for an access token with exactly the requested scopes.
 * @throws Refusal `invalid_client`, `audience_not_allowed`, `scope_not_allowed`, `rate_limited`, `unavailable`
 */
export async function exchangeClientCredentials(
  context: Context,
  request: ClientExchangeRequest,
): Promise<ClientExchange> {
  const { settings, signingKeys, clients } = context;
  const { clientId, audience, scopes } = request;
  const presented = presentClient(context, request);
  signingKeys.current();
  const row = await resolveCredential(context, presented, clients.call({ clientId, audience }));

  const grantable = grantableScopes(row, audience, scopes, (scope) => scope === settings.IAM_PEOPLE_SCOPE);
  if (typeof grantable === 'string') return refuseRequest(context, presented, row, grantable);

  const grant = { audience, scope: scopes, principalKind: 'service_account' };
  const accessToken = await signAndRecord(context, presented, row, grant);
  return { accessToken, tokenType: 'Bearer', expiresIn: settings.IAM_TOKEN_TTL_SECONDS };
}

/**
 * The scopes that may be granted: those within both ceilings that are not withheld.
 * @returns a code if the requested audience or a requested scope is not allowed
 */
function grantableScopes(
  { audiences, scope_ceiling: ceiling, allowed_scopes: allowed }: CredentialRow,
  audience: string,
  scopes: readonly string[],
  isWithheld: (scope: string) => boolean,
): string[] | 'audience_not_allowed' | 'scope_not_allowed' {
  if (!audiences.includes(audience) || allowed === null) return 'audience_not_allowed';
  const grantable = ceiling.filter(
    (scope) => allowed.includes(scope) && isScope(scope) && !isWithheld(scope),
  );
  return scopes.every((scope) => grantable.includes(scope)) ? grantable : 'scope_not_allowed';
}

/**
 * Signs while the exchange is being recorded. Without a key, or with a full queue, it throws before anything is
 * recorded (decision 0103).
 */
async function signAndRecord(
  context: Context,
  presented: Presented,
  row: CredentialRow,
  grant: Omit<Grant, 'tenantId' | 'principalId' | 'credentialId' | 'clientId' | 'algorithm' | 'nowSeconds'>,
  reason?: string,
): Promise<string> {
  const signing = signAccessToken(context, {
    tenantId: row.tenant_id,
    principalId: row.principal_id,
    credentialId: row.id,
    clientId: row.client_id,
    // Not null, because the audience was found.
    algorithm: row.signing_algorithm as SigningAlgorithm,
    nowSeconds: row.now_seconds,
    ...grant,
  });
  const recording = context.ledger.record({
    audit: auditDraft(context, auditEntryOf(presented, row, 'allowed', reason)),
    used: usedBy(presented, row),
  });
  const [accessToken] = await Promise.all([signing, recording]);
  context.counters.presented(presented.kind, 'exchanged');
  return accessToken;
}
