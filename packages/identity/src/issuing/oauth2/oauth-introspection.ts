import { auditDraft } from '../../records/audit.ts';
import { isSecretOf, parsePresentedToken } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import type { ClientRow } from '../exchange/credential.ts';
import { isRevoked } from '../revocations/revocation-list.ts';
import { AccessTokenRefused, scopesIn, verifyOwnAccessToken } from '../signing-keys/own-access-tokens.ts';
import { authenticateClient, requireClient, requireForm } from './client-authentication.ts';
import type { OauthIntrospection, OauthTokenQuery } from './oauth-token.ts';

const inactive: OauthIntrospection = { active: false };

/**
 * Introspects an access token or a platform access token (RFC 7662) for a service account of its tenant that has its
 * audience. Every other token is reported as inactive, without a reason.
 * @throws Refusal `invalid_client`, `rate_limited`; InvalidRequest
 */
export async function introspectOauthToken(
  context: Context,
  form: OauthTokenQuery,
): Promise<OauthIntrospection> {
  requireForm(context);
  const client = await authenticateClient(context, requireClient(context, form));
  const found = (await describePlatformToken(context, client, form.token)) ?? inactive;
  const answer = found.active
    ? found
    : ((await describeAccessToken(context, client, form.token)) ?? inactive);
  await context.ledger.record({
    audit: auditDraft(context, {
      tenantId: client.tenant_id,
      action: 'tokens.introspect',
      resource: ['service_account', client.id],
      reason: answer.active ? `active credential:${answer.credential_id}` : 'inactive',
      actor: client.principal_id,
    }),
  });
  return answer;
}

async function describePlatformToken(
  context: Context,
  client: ClientRow,
  text: string,
): Promise<OauthIntrospection | undefined> {
  const token = parsePresentedToken(text);
  if (token === undefined) return undefined;
  const row = await context.presentedTokens.call({ ...token, audience: null });
  if (!isSecretOf(text, row?.secret_hash) || row === undefined) {
    context.failureLimits.count(context.address, `${token.kind}:${token.publicPrefix}`);
    return undefined;
  }
  const audiences = row.audiences.filter((audience) => client.audiences.includes(audience));
  if (row.refusal !== null || row.tenant_id !== client.tenant_id || audiences.length === 0) return undefined;
  return {
    active: true,
    token_type: 'platform_access_token',
    iss: context.settings.issuer,
    sub: row.principal_id,
    aud: audiences,
    client_id: row.public_prefix,
    scope: row.scope_ceiling.join(' '),
    exp: secondsOf(row.expires_at),
    iat: secondsOf(row.created_at),
    tenant_id: row.tenant_id,
    principal_type: row.principal_kind,
    credential_id: row.id,
  };
}

async function describeAccessToken(
  { settings, signingKeys: keys, revocationFeed }: Context,
  client: ClientRow,
  text: string,
): Promise<OauthIntrospection | undefined> {
  const claims = await verifyOwnAccessToken(text, { keys, settings }).catch((error: unknown) => {
    if (error instanceof AccessTokenRefused) return undefined;
    throw error;
  });
  if (claims === undefined) return undefined;
  const isForClient = claims.tenant_id === client.tenant_id && client.audiences.includes(claims.aud);
  if (!isForClient || isRevoked(await revocationFeed.read(), claims)) return undefined;
  const { iss, sub, aud, iat, nbf, exp, jti, tenant_id, credential_id } = claims;
  const { client_id: clientId, principal_type: kind } = claims as Record<string, unknown>;
  return {
    active: true,
    token_type: 'Bearer',
    iss,
    sub,
    aud,
    iat,
    nbf,
    exp,
    jti,
    tenant_id,
    credential_id,
    ...(typeof clientId === 'string' && { client_id: clientId }),
    ...(typeof kind === 'string' && { principal_type: kind }),
    scope: scopesIn(claims['scope']).join(' '),
  };
}

function secondsOf(timestamp: string): number {
  return Math.floor(Date.parse(timestamp) / 1000);
}
