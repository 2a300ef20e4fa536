import { endpointsOf } from '@baton/kernel/http/service';
import type { Context as LowerContext } from '../credentials/context.ts';
import type { Auth } from '../service/auth.ts';
import type { ErrorCode } from './errors.ts';
import type { ClientLookup, TokenLookup } from './exchange/credential-lookup.ts';
import type { ExchangeLedger } from './exchange/exchange-ledger.ts';
import type { ExchangedAssertion, PresentedAssertion } from './oauth2/assertion-exchange.ts';
import type { OauthToken } from './oauth2/oauth-token.ts';
import type { RevocationFeed } from './revocations/revocation-feed.ts';
import type { Settings } from './settings.ts';
import type { SigningKeys } from './signing-keys/signing-keys.ts';

/** The context of this layer's handlers. */
export interface Context extends LowerContext {
  readonly settings: Settings;
  readonly signingKeys: SigningKeys;
  readonly presentedTokens: TokenLookup;
  readonly clients: ClientLookup;
  readonly ledger: ExchangeLedger;
  readonly revocationFeed: RevocationFeed;
  readonly exchangeAssertion: AssertionExchange;
  readonly grantByProvider: ProviderGrant;
  readonly revokeRefreshToken: RefreshTokenRevocation;
}

/**
 * Exchanges an assertion. It is implemented by the layer of identity providers, above this one.
 * @throws Refusal `invalid_assertion`, `audience_not_allowed`, `scope_not_allowed`, `rate_limited`, `unavailable`, also
 * if the keys of the identity provider can't be read
 */
export type AssertionExchange = (
  context: Context,
  presented: PresentedAssertion,
) => Promise<ExchangedAssertion>;

/**
 * Grants a token for an authorization code, a refresh token or a device code. It is implemented by the layer in which
 * people sign in, above this one.
 * @throws Refusal `invalid_client`, `invalid_grant`, `authorization_pending`, `slow_down`, `expired_token`,
 * `access_denied`, `audience_not_allowed`, `scope_not_allowed`, `unavailable`; InvalidRequest
 */
export type ProviderGrant = (context: Context, form: Readonly<Record<string, string>>) => Promise<OauthToken>;

/** Revokes the grant of a refresh token, in the caller's transaction; an unknown token changes nothing. */
export type RefreshTokenRevocation = (context: Context, refreshToken: string) => Promise<void>;

/** Declares an operation of this layer; see `EndpointSpec` for the fields. */
export const endpoint = endpointsOf<{ code: ErrorCode; permission: never; auth: Auth; context: Context }>({
  idempotency: 'ignored',
});
