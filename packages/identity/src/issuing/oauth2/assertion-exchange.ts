import type { TokenExchange } from '../exchange/exchange.ts';

/** A token of a workload that is to be exchanged (RFC 7523). */
export interface PresentedAssertion {
  readonly assertion: string;
  /** The tenant that the client names; undefined if it names none. */
  readonly tenantId: string | undefined;
  readonly audience: string;
  /** Empty: all scopes that the rule allows. */
  readonly scopes: readonly string[];
}

export type ExchangedAssertion = Pick<TokenExchange, 'accessToken' | 'tokenType' | 'expiresIn' | 'scope'>;
