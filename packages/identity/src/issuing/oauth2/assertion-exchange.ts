import type { Context } from '../context.ts';
import type { TokenExchange } from '../exchange/exchange.ts';

/** A token of a workload that is to be exchanged (RFC 7523). */
export interface PresentedAssertion {
  readonly assertion: string;
  /** The tenant that the client names; undefined if it names none. */
  readonly tenantId: string | undefined;
  readonly audience: string;
  /** Empty: all that the rule allows. */
  readonly scopes: readonly string[];
}

/**
 * Exchanges an assertion. It is implemented by the layer of identity providers, above this one.
 * @throws Refusal `invalid_assertion`, `audience_not_allowed`, `scope_not_allowed`, `rate_limited`,
 * `unavailable`, also if the keys of the identity provider can't be read
 */
export type AssertionExchange = (
  context: Context,
  presented: PresentedAssertion,
) => Promise<Pick<TokenExchange, 'accessToken' | 'tokenType' | 'expiresIn' | 'scope'>>;
