import { revokeToken } from '../../directory/revocation/revocation.ts';
import type { ProviderGrant, RefreshTokenRevocation } from '../../issuing/context.ts';
import { refuseForm } from '../../issuing/oauth2/client-authentication.ts';
import { refreshTokenPrefix } from '../../issuing/oauth2/oauth-token.ts';
import { secretHash } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { DeviceAuthorization, DeviceAuthorizationRequest } from './authorization-request.ts';
import { normalizedParams } from './authorization-requests.ts';
import { revokeGrant } from './oauth-grants.ts';
import { findGrantOfRefreshToken, updatePolled } from './oauth-handles.sql.ts';
import { deviceCodeSeconds, deviceGrant, pollSeconds, routes } from './provider/authorization-server.ts';
import { callProvider, type ProviderAnswer } from './provider/provider-request.ts';
import type { ProviderState } from './provider/provider-state.ts';
import { completeRedemption, grantOfFormerToken } from './redemption.ts';

/**
 * The grants of the token endpoint that the provider library implements: an authorization code, a refresh token and a
 * device code.
 */
export function createProviderGrant(
  tools: Pick<Context, 'settings' | 'providerKeys' | 'outbound' | 'authorizationServer'>,
): ProviderGrant {
  return async (lower, form) => {
    const context: Context = { ...lower, ...tools };
    const state: ProviderState = { context };
    const sent: Record<string, string> = { ...form };
    if (sent['resource'] !== undefined) {
      state.resource = sent['resource'].replace(/\/+$/, '');
      sent['resource'] = state.resource;
    }
    if (sent['grant_type'] === deviceGrant) await admitPoll(context, sent['device_code']);
    if (sent['grant_type'] === 'refresh_token') {
      sent['refresh_token'] = withoutPrefix(sent['refresh_token'] ?? '');
      const scopes = (sent['scope'] ?? '').split(' ').filter((name) => name !== '');
      if (scopes.length > 0) state.scopes = scopes;
    }
    const call = { method: 'POST', path: routes.token, form: sent } as const;
    const answer = await callProvider(state, call);
    // After `invalid_client`, clients discard their tokens, so a document that can't be fetched now must cause a
    // different error.
    if (answer.body['error'] === 'invalid_client' && state.isDocumentMissing === true)
      fail('unavailable', {}, { headers: { 'retry-after': '10' }, reason: 'the document of the client' });
    const { redemption, formerToken } = state;
    const isReused = answer.body['error'] === 'invalid_grant' && formerToken !== undefined;
    if (isReused && formerToken.clientId === sent['client_id'])
      await revokeGrant(context, formerToken.credentialId, 'handle_reused');
    if (answer.status !== 200 || redemption === undefined) return refuseAnswer(answer);
    const refreshToken = await completeRedemption(context, redemption);
    const { accessToken, expiresIn, scope } = redemption.minted;
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: expiresIn,
      scope: scope.join(' '),
      ...(refreshToken !== undefined && { refresh_token: `${refreshTokenPrefix}${refreshToken}` }),
    };
  };
}

/**
 * @throws Refusal `invalid_client`, `audience_not_allowed`, `scope_not_allowed`, `too_many_device_codes`;
 * InvalidRequest
 */
export async function authorizeDevice(
  context: Context,
  form: DeviceAuthorizationRequest,
): Promise<DeviceAuthorization> {
  const call = {
    method: 'POST',
    path: routes.device_authorization,
    form: normalizedParams(context, form),
  } as const;
  const answer = await callProvider({ context }, call);
  if (answer.status !== 200) return refuseAnswer(answer);
  const userCode = String(answer.body['user_code']);
  const page = `${context.settings.oauthPagesUrl}/oauth2/device`;
  return {
    device_code: String(answer.body['device_code']),
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}#code=${userCode}`,
    expires_in: deviceCodeSeconds,
    interval: pollSeconds,
  };
}

/** @throws Refusal `slow_down` for a poll that follows too soon */
async function admitPoll({ pool }: Context, deviceCode: string | undefined): Promise<void> {
  if (deviceCode === undefined) return;
  const poll = await pool.row(updatePolled(secretHash(deviceCode), pollSeconds));
  if (poll?.is_early === true) fail('slow_down');
}

/** Ends the grant of a refresh token that its holder presents, whether the token was used or not. */
export const revokeRefreshToken: RefreshTokenRevocation = async (context, refreshToken) => {
  const handle = withoutPrefix(refreshToken);
  const found =
    (await context.db.row(findGrantOfRefreshToken(secretHash(handle)))) ??
    (await grantOfFormerToken(context.db, handle));
  if (found === undefined) return;
  const { tenant_id: tenantId, credential_id: credentialId, principal_id: actor } = found;
  await revokeToken(context, { tenantId, credentialId, reason: 'logout', actor });
};

/** The stored handle has no prefix. A token without the prefix counts as unknown. */
function withoutPrefix(refreshToken: string): string {
  return refreshToken.startsWith(refreshTokenPrefix) ? refreshToken.slice(refreshTokenPrefix.length) : '-';
}

const codes = {
  invalid_client: 'invalid_client',
  invalid_grant: 'invalid_grant',
  invalid_scope: 'scope_not_allowed',
  invalid_target: 'audience_not_allowed',
  authorization_pending: 'authorization_pending',
  expired_token: 'expired_token',
  access_denied: 'access_denied',
} as const;

/** Turns the library's error into ours, which the envelope of OAuth endpoints turns back into the standard's. */
function refuseAnswer({ body }: ProviderAnswer): never {
  const { error, error_description: description } = body;
  const code = codes[error as keyof typeof codes];
  const reason = String(description ?? error);
  return code === undefined ? refuseForm(reason) : fail(code, {}, { reason });
}
