import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transport } from '@baton/sdk';
import { actions, finishProviderSignIn } from './actions.ts';
import { AddressRates } from './address-rates.ts';
import { BrowserSessions } from './browser-sessions.ts';
import { builtConsole } from './build.ts';
import type { ConsoleContext } from './context.ts';
import { callbackPath } from './cookies.ts';
import type { ConsoleDemo } from './demo.ts';
import { Files } from './files.ts';
import type { FirstPasskeys } from './first-passkeys.ts';
import { ProviderSignIn, type ProviderSignInOptions } from './provider-sign-in.ts';
import { sendBuildStatus, sendError } from './responses.ts';
import { Sessions } from './sessions.ts';
import { TokenExchange } from './token-exchange.ts';

export { callbackPath } from './cookies.ts';
export type { ConsoleDemo } from './demo.ts';
export type { ProviderSecret } from './provider-sign-in.ts';

export interface ConsoleOptions {
  /** The address at which this process reaches Baton. */
  readonly url: string;
  /**
   * Sends identity requests on behalf of a browser, so that rate limits count that browser. Defaults to the network.
   */
  readonly transport?: (req: IncomingMessage) => Transport;
  /** The address of the console for browsers, if it differs from the one at which their requests arrive. */
  readonly browserUrl?: string;
  /** The key by which browsers without a session are rate-limited: their address, or their IPv6 network. */
  readonly countedAs: (req: IncomingMessage) => string;
  /** The tenant's identity providers for sign-in. */
  readonly signIn?: ProviderSignInOptions;
  /** For the first administrator; without it, a first passkey requires a link. */
  readonly firstPasskeys?: FirstPasskeys;
  /** The live demo; without it the console offers none. */
  readonly demo?: ConsoleDemo;
  /** The folder for the built console if the checkout is not writable. */
  readonly cache: string;
  /** Whether browsers use https, so that cookies are limited to it. */
  readonly isSecure: boolean;
  say(line: string): void;
}

/** The console of one Baton: its pages, and the sessions of signed-in browsers. */
export interface Console {
  /** Handles a request for the console. @returns false, without a response, for any other request */
  handle(req: IncomingMessage, res: ServerResponse): boolean;
  /**
   * @returns a code, to be printed for the operator, that signs in one browser, within 60 seconds, as the owner of this
   * personal access token
   */
  newCode(token: string): string;
}

/** The owner of codes that this process itself creates, so that they don't count against anybody else's limit. */
const ofThisProcess = 'this process';
/** First segments of the paths that are pages of the console, besides `/`. */
const pages = new Set([
  'sign-in',
  'invite',
  'account',
  'consent',
  'start',
  'tasks',
  'runs',
  'inbox',
  'approvals',
  'people',
  'agents',
  'journal',
  'overview',
  'projects',
  'processes',
  'skills',
  'knowledge',
  'administration',
  'system',
]);

/** Serves the console. Builds it first, in the background, unless a build of the same sources exists. */
export function createConsole(options: ConsoleOptions): Console {
  const context = createContext(options);
  const build = startBuild(options);
  return {
    newCode: (token) => context.sessions.newCode({ token, isOperator: true }, ofThisProcess),
    handle(req, res) {
      // The raw path: `new URL` throws for `//`.
      const [path = '/'] = (req.url ?? '/').split('?', 1);
      const action = actions[path];
      if (action !== undefined && req.method === 'POST') {
        action(context, req, res).catch((error: unknown) => sendError(res, error));
        return true;
      }
      if (path === callbackPath && req.method === 'GET') {
        void finishProviderSignIn(context, req, res);
        return true;
      }
      if (req.method !== 'GET' && req.method !== 'HEAD') return false;
      return sendPage(build, req, res, path);
    },
  };
}

function createContext({
  url,
  transport,
  countedAs,
  signIn,
  firstPasskeys,
  demo,
  browserUrl,
  isSecure,
}: ConsoleOptions): ConsoleContext {
  const sessions = new Sessions();
  const exchange = new TokenExchange({ url, ...(transport && { transport }), tenantId: signIn?.tenantId });
  return {
    sessions,
    exchange,
    browsers: new BrowserSessions(sessions, exchange, isSecure),
    providers: signIn && new ProviderSignIn(signIn),
    firstPasskeys,
    demo,
    rates: { begin: new AddressRates(), finish: new AddressRates() },
    countedAs,
    browserUrl,
    isSecure,
  };
}

/** The console's files once they are built, or the error of the build. */
interface Build {
  files?: Files;
  failure?: string;
}

function startBuild({ cache, say }: ConsoleOptions): Build {
  const build: Build = {};
  builtConsole(cache, say).then(
    (folder) => {
      build.files = new Files(folder);
    },
    (error: Error) => {
      build.failure = error.message;
      say(error.message);
    },
  );
  return build;
}

/** @returns false, without a response, for a path that is not the console's */
function sendPage(
  { files, failure }: Build,
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
): boolean {
  const isPage = path === '/' || pages.has(path.split('/')[1] ?? '');
  if (files === undefined) {
    if (isPage) sendBuildStatus(res, failure);
    return isPage;
  }
  const file = isPage ? '/index.html' : path;
  if (!files.has(file) || (!isPage && !path.startsWith('/assets/'))) return false;
  files.send(req, res, file);
  return true;
}
