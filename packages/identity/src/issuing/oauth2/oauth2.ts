import { type Reply, reply } from '@baton/kernel/http/service';
import { audienceLengthMax, sortedSet } from '../../service/fields.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { exchangeClientCredentials, exchangePlatformAccessToken } from '../exchange/exchanges.ts';
import type { Settings } from '../settings.ts';
import {
  authenticateClient,
  findClient,
  refuseForm,
  requireClient,
  requireForm,
} from './client-authentication.ts';
import {
  accessTokenType,
  assertionGrant,
  type OauthToken,
  type OauthTokenRequest,
  providerGrants,
  tokenExchangeGrant,
} from './oauth-token.ts';

/**
 * The standard form of the exchanges: client credentials (RFC 6749, section 4.4), a platform access token (RFC 8693), and
 * a token of a workload (RFC 7523).
 * @throws Refusal `unsupported_grant_type`, `invalid_client`, `invalid_token`, `invalid_assertion`,
 * `audience_not_allowed`, `scope_not_allowed`; InvalidRequest for another media type, two authentication methods, and a
 * missing audience
 */
export async function grantOauthToken(context: Context, form: OauthTokenRequest): Promise<Reply<OauthToken>> {
  requireForm(context);
  const token = await grantToken(context, form);
  // RFC 6749 requires this header in addition to `Cache-Control: no-store`.
  return reply(200, token, { pragma: 'no-cache' });
}

function grantToken(context: Context, form: OauthTokenRequest): Promise<OauthToken> {
  if (form.grant_type === 'client_credentials') return grantClientCredentials(context, form);
  if (form.grant_type === tokenExchangeGrant) return grantTokenExchange(context, form);
  if (form.grant_type === assertionGrant) return grantAssertion(context, form);
  if (providerGrants.includes(form.grant_type)) return context.grantByProvider(context, fieldsOf(form));
  return fail('unsupported_grant_type');
}

/** No client authentication, because clients of people are public. */
function fieldsOf({ client_secret: secret, ...form }: OauthTokenRequest): Record<string, string> {
  if (secret !== undefined) refuseForm('clients of people have no secret');
  return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== undefined));
}

async function grantClientCredentials(context: Context, form: OauthTokenRequest): Promise<OauthToken> {
  const client = requireClient(context, form);
  const [audience, scopes] = [audienceOf(context.settings, form), scopesOf(form)];
  const granted = await exchangeClientCredentials(context, { ...client, audience, scopes });
  return {
    access_token: granted.accessToken,
    token_type: granted.tokenType,
    expires_in: granted.expiresIn,
    scope: scopes.join(' '),
  };
}

/** The subject token is the credential, so a client need not authenticate; but if it tries to, it must succeed. */
async function grantTokenExchange(context: Context, form: OauthTokenRequest): Promise<OauthToken> {
  const { subject_token: token, subject_token_type: type, requested_token_type: requested } = form;
  if (token === undefined || type !== accessTokenType)
    return refuseForm(`a subject_token of the type ${accessTokenType} is needed`);
  if (requested !== undefined && requested !== accessTokenType)
    refuseForm(`only ${accessTokenType} is issued`);
  if (form.actor_token !== undefined) refuseForm('an actor_token is not supported');
  const [audience, scopes] = [audienceOf(context.settings, form), scopesOf(form)];
  const client = findClient(context, form);
  if (client !== undefined) await authenticateClient(context, client);
  const granted = await exchangePlatformAccessToken(context, { token, audience, scopes });
  return {
    access_token: granted.accessToken,
    issued_token_type: accessTokenType,
    token_type: granted.tokenType,
    expires_in: granted.expiresIn,
    scope: granted.scope.join(' '),
  };
}

/** The assertion identifies the principal, so no client need authenticate; one that tries to must succeed. */
async function grantAssertion(context: Context, form: OauthTokenRequest): Promise<OauthToken> {
  const { assertion, tenant_id: tenantId } = form;
  if (assertion === undefined) return refuseForm('an assertion is needed');
  const [audience, scopes] = [audienceOf(context.settings, form), scopesOf(form)];
  const client = findClient(context, form);
  if (client !== undefined) await authenticateClient(context, client);
  const granted = await context.exchangeAssertion(context, { assertion, tenantId, audience, scopes });
  return {
    access_token: granted.accessToken,
    token_type: granted.tokenType,
    expires_in: granted.expiresIn,
    scope: granted.scope.join(' '),
  };
}

/**
 * The audience that `audience` or `resource` specifies; both must specify the same one. An address that is not in the
 * settings is refused like an audience that is not allowed.
 */
function audienceOf({ resources }: Settings, { audience, resource }: OauthTokenRequest): string {
  const named = resource === undefined ? audience : (resources.get(resource.replace(/\/+$/, '')) ?? resource);
  if (named === undefined || (audience !== undefined && audience !== named))
    return refuseForm('exactly one audience is needed, as audience or resource');
  // The maximum length, which is above that of any audience key.
  return named.length > audienceLengthMax ? fail('audience_not_allowed') : named;
}

function scopesOf({ scope = '' }: OauthTokenRequest): string[] {
  return sortedSet(scope.split(' ').filter((name) => name !== ''));
}
