import { createHash, randomBytes } from 'node:crypto';
import { EndpointCache } from './endpoint-cache.ts';
import { isOnOffer, OfferedProviders } from './offered-providers.ts';
import {
  type Outbound,
  type ProviderEndpoints,
  type ProviderTokens,
  type RegisteredProvider,
  readClaims,
  readReported,
  requestTokens,
} from './provider.ts';
import { ConsoleRefusal } from './refusal.ts';
import { type BegunSignIn, SignInSeals } from './sealed-sign-in.ts';

export interface ProviderSignInOptions {
  readonly tenantId: string;
  /** The redirect URI registered with the providers. */
  readonly redirectUri: string;
  /**
   * The redirect URIs of the console's other addresses, which a provider accepts if they are registered with it, too.
   */
  readonly otherRedirectUris?: readonly string[];
  /** The keys of the providers that are always offered. */
  readonly providers: ReadonlySet<string>;
  /** Finds the console's client secret for a provider, if it has one. */
  findSecret?(key: string): ProviderSecret | undefined;
  /** Lists the tenant's providers in identity. */
  list?(): Promise<readonly (RegisteredProvider & { readonly key: string })[]>;
  /** Reads a provider from identity. @throws if it does not exist */
  read(key: string): Promise<RegisteredProvider>;
  readonly outbound: Outbound;
}

/** The secret of the console as a client of a provider. */
export interface ProviderSecret {
  readonly text: string;
  /**
   * The only scheme, host and port to which it may be sent, for example `https://login.example.com`. If undefined,
   * those of the token endpoint that this process discovers first.
   */
  readonly address: string | undefined;
}

/** The query parameters of a callback. */
export interface ProviderAnswer {
  readonly state: string;
  readonly code: string | undefined;
  readonly issuer: string | undefined;
  readonly error: string | undefined;
}

/** The result of a sign-in that only tests the provider: its ID token, or why there is none. */
export type TestedSignIn = { readonly provider: string } & (
  | { readonly idToken: string }
  | { readonly failed: 'authorization' | 'exchange'; readonly code: string; readonly detail: string }
);

/** A finished sign-in, with the console path to open, and the page and session that started it. */
export type FinishedSignIn = Pick<BegunSignIn, 'next' | 'pageKeyHash' | 'session' | 'invitation'> &
  ({ readonly grant: ProviderGrant } | { readonly tested: TestedSignIn });

export const signInBounds = { lastsMsMax: 600_000, answeredMax: 10_000, nextCharactersMax: 1000 };

/** How long before its expiry an ID token is renewed, so that it does not expire in transit. */
const leewayMs = 10_000;

/**
 * Sign-in with the tenant's identity providers: authorization code flow with PKCE, state and nonce. The browser gets
 * only the provider's URL and a cookie. The pending sign-in is sealed in that cookie, so that nobody can evict the
 * sign-ins of others by starting many.
 */
export class ProviderSignIn {
  readonly #options: ProviderSignInOptions;
  readonly #seals = new SignInSeals();
  readonly #endpoints: EndpointCache;
  readonly #offered: OfferedProviders;
  /** Used states with their expiry. Each state is valid once. */
  readonly #answered = new Map<string, number>();
  /** The pinned addresses of secrets that were configured without an address. */
  readonly #addresses = new Map<string, string>();
  readonly #now: () => number;

  /** @param now a monotonic clock, in milliseconds */
  constructor(options: ProviderSignInOptions, now: () => number = () => performance.now()) {
    this.#options = options;
    this.#now = now;
    this.#endpoints = new EndpointCache(options.outbound, now);
    this.#offered = new OfferedProviders(options.list, now);
  }

  /** The keys of the offered providers: those in the settings, and those that identity lists as offered. */
  async listKeys(): Promise<string[]> {
    return [...new Set([...this.#options.providers, ...(await this.#offered.keys())])];
  }

  get tenantId(): string {
    return this.#options.tenantId;
  }

  /** The address under which the console is registered with the providers. */
  get origin(): string {
    return new URL(this.#options.redirectUri).origin;
  }

  /** @returns the redirect URI of a host, to which the sign-in cookie belongs; undefined for a foreign host */
  redirectUriAt(host: string | undefined): string | undefined {
    const { redirectUri, otherRedirectUris = [] } = this.#options;
    return [redirectUri, ...otherRedirectUris].find((uri) => new URL(uri).host === host);
  }

  /**
   * Starts a sign-in.
   * @param next the console path to open afterwards
   * @param pageKeyHash of the page that starts it. The session is bound to that page's storage, whichever browser
   * returns.
   * @param from the redirect URI of the browser, the key of its current session, and the secret of the invitation that
   * the sign-in accepts, if any; with `isTest` also a provider that is not on offer. `isFresh`: whether the person must
   * authenticate at the provider again
   * @returns the provider's URL, and the value of the browser's cookie, which is required to finish
   * @throws ConsoleRefusal
   */
  async begin(
    provider: string,
    next: string,
    pageKeyHash: string,
    from: Partial<Pick<BegunSignIn, 'redirectUri' | 'session' | 'invitation' | 'isTest'>> & {
      isFresh?: boolean;
    } = {},
  ): Promise<{ url: string; browser: string }> {
    const { providers, list, read } = this.#options;
    const {
      redirectUri = this.#options.redirectUri,
      session,
      invitation,
      isTest = false,
      isFresh = false,
    } = from;
    const isConfigured = providers.has(provider);
    const mayRead = isConfigured || list !== undefined;
    const registered = mayRead ? await read(provider).catch(() => undefined) : undefined;
    const isOffered =
      registered !== undefined &&
      registered.status === 'active' &&
      (isConfigured || isTest || isOnOffer(registered));
    if (!isOffered)
      throw new ConsoleRefusal(
        404,
        'identity_provider_not_found',
        'This identity provider is disabled or does not exist.',
      );
    const endpoints = await this.#endpoints.of(provider, registered.issuer);
    // Check now: otherwise the person would sign in at the provider first and be rejected afterwards.
    this.#secretFor(provider, endpoints);
    const [nonce, verifier] = [newKey(), newKey()];
    const state = this.#seals.newState(this.#now() + signInBounds.lastsMsMax);
    const begun = {
      provider,
      clientId: registered.audience,
      nonce,
      verifier,
      pageKeyHash,
      session,
      redirectUri,
      invitation,
      isTest,
    };
    const browser =
      this.#seals.seal({ ...begun, next: localPath(next) }, state) ??
      // If the client ID is long, `next` may not fit. The sign-in then ends at the start page.
      this.#seals.seal({ ...begun, next: '/' }, state);
    if (browser === undefined)
      throw new ConsoleRefusal(
        409,
        'client_id_too_long',
        "The provider's client ID is too long for a cookie.",
      );
    const url = new URL(endpoints.authorization);
    const parameters = {
      response_type: 'code',
      client_id: registered.audience,
      redirect_uri: redirectUri,
      scope: 'openid profile email',
      state,
      nonce,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      // The provider then authenticates the person again, and must state when (OpenID Connect Core, 3.1.2.1).
      ...(isFresh && { max_age: '0' }),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return { url: url.href, browser };
  }

  /**
   * Finishes a sign-in, or a test. In the browser that started it, its state is consumed even if it fails.
   * @param browser the values of the browser's sign-in cookies
   * @returns the grant for access tokens, or the result of the test
   * @throws ConsoleRefusal
   */
  async finish(answer: ProviderAnswer, browser: readonly string[]): Promise<FinishedSignIn> {
    const begun = this.#takeBegun(answer.state, browser);
    const { next, pageKeyHash, session, invitation } = begun;
    const from = { next, pageKeyHash, session, invitation };
    if (begun.isTest) return { ...from, tested: await this.#finishTest(begun, answer) };
    const endpoints = await this.#endpointsOf(begun);
    const tokens = await this.#redeem(begun, endpoints, requireCode(endpoints, answer));
    const renew = (refreshToken: string) =>
      this.#requestTokens(begun, endpoints, { grant_type: 'refresh_token', refresh_token: refreshToken });
    return { ...from, grant: new ProviderGrant(begun.provider, tokens, renew) };
  }

  /** Requests the ID token, and keeps nothing else. A refusal is the result of its step. */
  async #finishTest(begun: BegunSignIn, answer: ProviderAnswer): Promise<TestedSignIn> {
    const { provider } = begun;
    let step: 'authorization' | 'exchange' = 'authorization';
    try {
      const endpoints = await this.#endpointsOf(begun);
      const code = requireCode(endpoints, answer);
      step = 'exchange';
      const { idToken } = await this.#redeem(begun, endpoints, code);
      return { provider, idToken };
    } catch (error) {
      if (!(error instanceof ConsoleRefusal)) throw error;
      const { code, message, reported } = error;
      const detail = reported === undefined ? message : `${message} It reported: ${reported}`;
      return { provider, failed: step, code, detail };
    }
  }

  async #endpointsOf({ provider }: BegunSignIn): Promise<ProviderEndpoints> {
    const endpoints = await this.#endpoints.again(provider);
    if (endpoints === undefined) throw new Error('a sign-in was started without resolving its provider');
    return endpoints;
  }

  /** Exchanges the code for the tokens of this sign-in. @throws ConsoleRefusal */
  async #redeem(begun: BegunSignIn, endpoints: ProviderEndpoints, code: string): Promise<ProviderTokens> {
    const tokens = await this.#requestTokens(begun, endpoints, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: begun.redirectUri,
      code_verifier: begun.verifier,
    });
    if (readClaims(tokens.idToken).nonce !== begun.nonce)
      throw new ConsoleRefusal(401, 'invalid_nonce', 'The ID token belongs to another sign-in.');
    return tokens;
  }

  /**
   * Opens the browser's sealed sign-in and consumes its state. Knowledge of the state alone cannot end a sign-in.
   * @throws ConsoleRefusal `sign_in_expired` for a state that has expired, was used, or belongs to another process;
   * `sign_in_of_another`
   */
  #takeBegun(state: string, browser: readonly string[]): BegunSignIn {
    const endsAtMs = this.#seals.readExpiry(state);
    const nowMs = this.#now();
    if (endsAtMs === undefined || endsAtMs <= nowMs || this.#answered.has(state))
      throw new ConsoleRefusal(401, 'sign_in_expired', 'This sign-in was already used or has expired.');
    let begun: BegunSignIn | undefined;
    for (const text of browser) begun ??= this.#seals.open(text, state);
    if (begun === undefined)
      throw new ConsoleRefusal(401, 'sign_in_of_another', 'This sign-in was started in another browser.');
    for (const [oldest, endMs] of this.#answered)
      if (endMs <= nowMs || this.#answered.size >= signInBounds.answeredMax) this.#answered.delete(oldest);
      else break;
    this.#answered.set(state, endsAtMs);
    return begun;
  }

  #requestTokens(
    { provider, clientId }: BegunSignIn,
    endpoints: ProviderEndpoints,
    grant: Readonly<Record<string, string>>,
  ): Promise<ProviderTokens> {
    const secret = this.#secretFor(provider, endpoints);
    return requestTokens(this.#options.outbound, endpoints, { id: clientId, secret }, grant);
  }

  /** @throws ConsoleRefusal if the secret may not be sent to the provider's token endpoint */
  #secretFor(provider: string, { token }: ProviderEndpoints): string | undefined {
    const secret = this.#options.findSecret?.(provider);
    if (secret === undefined) return undefined;
    const { origin } = new URL(token);
    const address = secret.address ?? this.#addresses.get(provider) ?? origin;
    this.#addresses.set(provider, address);
    if (origin !== address)
      throw new ConsoleRefusal(
        409,
        'secret_address_changed',
        `The client secret of this provider was entered for ${address}, but its token endpoint is at ${origin}. An operator must update BATON_CONSOLE_SECRETS_FILE.`,
      );
    return secret.text;
  }
}

/** The tokens that an identity provider has granted for a person: an ID token, and possibly a refresh token. */
export class ProviderGrant {
  readonly provider: string;
  readonly #renew: (refreshToken: string) => Promise<ProviderTokens>;
  readonly #subject: string;
  #tokens: ProviderTokens;
  #renewing: Promise<ProviderTokens> | undefined;
  /** The ID token that identity has confirmed last. */
  #confirmed: string;
  #confirming: Promise<void> | undefined;

  constructor(
    provider: string,
    tokens: ProviderTokens,
    renew: (refreshToken: string) => Promise<ProviderTokens>,
  ) {
    this.provider = provider;
    this.#tokens = tokens;
    this.#subject = readClaims(tokens.idToken).subject;
    this.#renew = renew;
    // The sign-in itself has this first ID token confirmed.
    this.#confirmed = tokens.idToken;
  }

  /**
   * Has every renewed ID token confirmed once. Concurrent callers share one confirmation.
   * @throws ConsoleRefusal as `idToken`, and what `present` throws
   */
  async confirm(present: (idToken: string) => Promise<void>): Promise<void> {
    const idToken = await this.idToken();
    if (idToken === this.#confirmed) return;
    this.#confirming ??= present(idToken)
      .then(() => {
        this.#confirmed = idToken;
      })
      .finally(() => {
        this.#confirming = undefined;
      });
    await this.#confirming;
  }

  /**
   * Returns a valid ID token, renewed if necessary. Concurrent callers share one renewal, because refresh tokens are
   * often single-use.
   * @throws ConsoleRefusal 401 if the grant has ended, 503 if the provider is unavailable
   */
  async idToken(): Promise<string> {
    if (readClaims(this.#tokens.idToken).endsAtMs - leewayMs > Date.now()) return this.#tokens.idToken;
    this.#renewing ??= this.#requestRenewal().finally(() => {
      this.#renewing = undefined;
    });
    this.#tokens = await this.#renewing;
    return this.#tokens.idToken;
  }

  async #requestRenewal(): Promise<ProviderTokens> {
    const { refreshToken } = this.#tokens;
    const ended = () =>
      new ConsoleRefusal(
        401,
        'sign_in_over',
        'Your session at the identity provider has ended. Sign in again.',
      );
    if (refreshToken === undefined) throw ended();
    const tokens = await this.#renew(refreshToken).catch((error: unknown) => {
      throw error instanceof ConsoleRefusal && error.status === 401 ? ended() : error;
    });
    if (readClaims(tokens.idToken).subject !== this.#subject) throw ended();
    return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
  }
}

/** @returns the code of a response of the provider that began the sign-in. @throws ConsoleRefusal */
function requireCode(
  { issuer: expected, isNamedInAnswers }: ProviderEndpoints,
  { code, issuer, error }: ProviderAnswer,
): string {
  if (issuer === undefined ? isNamedInAnswers : issuer !== expected)
    throw new ConsoleRefusal(401, 'invalid_issuer', 'The response is from another identity provider.');
  if (error === undefined && code !== undefined) return code;
  throw new ConsoleRefusal(
    401,
    'provider_refused',
    'The identity provider rejected the sign-in.',
    readReported(error),
  );
}

/** A path in the console, never another site. */
function localPath(next: string): string {
  const own = 'http://console';
  if (!next.startsWith('/') || next.length > signInBounds.nextCharactersMax || !URL.canParse(next, own))
    return '/';
  const { origin, pathname, search } = new URL(next, own);
  // A path that begins with two slashes refers to another host.
  return origin === own && !pathname.startsWith('//') ? pathname + search : '/';
}

function newKey(): string {
  return randomBytes(32).toString('base64url');
}
