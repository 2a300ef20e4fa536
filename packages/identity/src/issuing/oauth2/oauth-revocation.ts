import { Refusal } from '@baton/kernel/http/refusal';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { revokeOwnPlatformAccessToken } from '../introspection/presented-tokens.ts';
import { authenticateClient, findClient, requireForm } from './client-authentication.ts';
import { type OauthTokenQuery, refreshTokenPrefix } from './oauth-token.ts';

/**
 * Checks the request before its transaction. The holder of a token may revoke it, so client authentication is optional;
 * if it is attempted, it must succeed.
 * @throws Refusal `invalid_client`, `unsupported_token_type`, `rate_limited`; InvalidRequest
 */
export async function admitRevocation(context: Context, form: OauthTokenQuery): Promise<void> {
  requireForm(context);
  const client = findClient(context, form);
  if (client !== undefined) await authenticateClient(context, client);
  // Recognized by its format alone and refused: an access token expires by itself, or ends with the credential that it
  // was exchanged for.
  if (/^[\w-]+\.[\w-]+\.[\w-]*$/.test(form.token)) fail('unsupported_token_type');
}

/**
 * Revokes a platform access token, or the grant of a refresh token (RFC 7009). An unknown or revoked token gets the
 * same response, so a caller can't find out which tokens exist.
 * @throws Refusal `rate_limited`
 */
export async function revokeOauthToken(context: Context, { token }: OauthTokenQuery): Promise<undefined> {
  if (token.startsWith(refreshTokenPrefix)) return void (await context.revokeRefreshToken(context, token));
  try {
    await revokeOwnPlatformAccessToken(context, token, 'logout');
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'invalid_token')) throw error;
  }
}
