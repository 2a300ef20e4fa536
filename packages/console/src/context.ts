import type { IncomingMessage } from 'node:http';
import type { AddressRates } from './address-rates.ts';
import type { BrowserSessions } from './browser-sessions.ts';
import type { ConsoleDemo } from './demo.ts';
import type { FirstPasskeys } from './first-passkeys.ts';
import type { ProviderSignIn } from './provider-sign-in.ts';
import type { Sessions } from './sessions.ts';
import type { TokenExchange } from './token-exchange.ts';

/** The context of the console's own endpoints. */
export interface ConsoleContext {
  readonly sessions: Sessions;
  readonly browsers: BrowserSessions;
  readonly exchange: TokenExchange;
  readonly providers: ProviderSignIn | undefined;
  readonly demo: ConsoleDemo | undefined;
  readonly firstPasskeys: FirstPasskeys | undefined;
  /** The start of a sign-in sends a request to identity, its end one to the provider. Neither needs a session. */
  readonly rates: { readonly begin: AddressRates; readonly finish: AddressRates };
  readonly countedAs: (req: IncomingMessage) => string;
  /** The address for browsers that get a code. */
  readonly browserUrl: string | undefined;
  readonly isSecure: boolean;
}
