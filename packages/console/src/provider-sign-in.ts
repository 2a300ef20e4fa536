import { createHash, randomBytes } from 'node:crypto';
import { KnownEndpoints } from './known-endpoints.ts';
import {
  askForTokens,
  claimsIn,
  type Outbound,
  type ProviderEndpoints,
  type ProviderTokens,
  type RegisteredProvider,
} from './provider.ts';
import { ConsoleRefusal } from './refusal.ts';
import { type BegunSignIn, SignInSeals } from './sealed-sign-in.ts';

export interface ProviderSignInOptions {
  readonly tenantId: string;
  /** The one address to which providers send browsers back. */
  readonly redirectUri: string;
  /** Keys of the providers that are offered, each with the secret of the console's client there, if it has one. */
  readonly providers: ReadonlyMap<string, ProviderSecret | undefined>;
  /** Reads a provider from identity. @throws where there is none */
  read(key: string): Promise<RegisteredProvider>;
  readonly outbound: Outbound;
}

/** The secret of the console as a client of a provider. */
export interface ProviderSecret {
  readonly text: string;
  /**
   * The scheme, host and port to which it may be sent, as `https://login.example.com`; undefined: those of the token endpoint
   * that this process found first.
   */
  readonly address: string | undefined;
}

/** What a provider sent along with a browser. */
export interface ProviderAnswer {
  readonly state: string;
  readonly code: string | undefined;
  readonly issuer: string | undefined;
  readonly error: string | undefined;
}

export const signInBounds = { lastsMsMax: 600_000, answeredMax: 10_000, nextCharactersMax: 1000 };

/** An ID token is used until so long before its end, so that it does not end on its way. */
const leewayMs = 10_000;

/**
 * Signs browsers in through the tenant's identity providers: authorization code, with PKCE, state and nonce. All of it
 * happens in this process; a browser gets no more than the address of the provider and a cookie. What was begun is sealed in
 * that cookie, so nobody can end the sign-ins of others by beginning many.
 */
export class ProviderSignIn {
  readonly #options: ProviderSignInOptions;
  readonly #seals = new SignInSeals();
  readonly #endpoints: KnownEndpoints;
  /** States that were answered, with their ends: each serves once. */
  readonly #answered = new Map<string, number>();
  /** Where the secrets without an address may be sent. */
  readonly #addresses = new Map<string, string>();
  readonly #now: () => number;

  /** @param now milliseconds of a clock that does not go back */
  constructor(options: ProviderSignInOptions, now: () => number = () => performance.now()) {
    this.#options = options;
    this.#now = now;
    this.#endpoints = new KnownEndpoints(options.outbound, now);
  }

  get providers(): string[] {
    return [...this.#options.providers.keys()];
  }

  get tenantId(): string {
    return this.#options.tenantId;
  }

  /** Where browsers must be, to be known again when they come back. */
  get origin(): string {
    return new URL(this.#options.redirectUri).origin;
  }

  /**
   * Begins a sign-in.
   * @param next where in the console to go afterwards
   * @param pageKeyHash of the page that begins: the session will be for its storage, whichever browser is sent back
   * @param session the key of the session that the browser has now
   * @returns the provider's address, and a text for the browser's cookie, without which nobody can finish
   * @throws ConsoleRefusal
   */
  async begin(
    provider: string,
    next: string,
    pageKeyHash: string,
    session?: string,
  ): Promise<{ url: string; browser: string }> {
    const { providers, read, redirectUri } = this.#options;
    const registered = providers.has(provider) ? await read(provider).catch(() => undefined) : undefined;
    if (registered?.status !== 'active')
      throw new ConsoleRefusal(404, 'identity_provider_not_found', 'Nobody signs in through this provider.');
    const endpoints = await this.#endpoints.of(provider, registered.issuer);
    // Check now: otherwise the person would sign in at the provider first and be rejected afterwards.
    this.#secretFor(provider, endpoints);
    const [nonce, verifier] = [newKey(), newKey()];
    const state = this.#seals.newState(this.#now() + signInBounds.lastsMsMax);
    const begun = { provider, clientId: registered.audience, nonce, verifier, pageKeyHash, session };
    const browser =
      this.#seals.seal({ ...begun, next: localPath(next) }, state) ??
      // A client id may be long, too; then the person comes to the first page.
      this.#seals.seal({ ...begun, next: '/' }, state);
    if (browser === undefined)
      throw new ConsoleRefusal(
        409,
        'client_id_too_long',
        "The provider's client id is too long for a cookie.",
      );
    const url = new URL(endpoints.authorization);
    const asked = {
      response_type: 'code',
      client_id: registered.audience,
      redirect_uri: redirectUri,
      scope: 'openid profile',
      state,
      nonce,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    return { url: url.href, browser };
  }

  /**
   * Finishes a sign-in. In the browser that began it, its state serves once, whatever comes of it.
   * @param browser what the browser's cookies hold
   * @returns what renews its access tokens, where in the console to go, and page and session that it began with
   * @throws ConsoleRefusal
   */
  async finish(
    { state, code, issuer, error }: ProviderAnswer,
    browser: readonly string[],
  ): Promise<{ grant: ProviderGrant } & Pick<BegunSignIn, 'next' | 'pageKeyHash' | 'session'>> {
    const begun = this.#takeBegun(state, browser);
    const endpoints = await this.#endpoints.again(begun.provider);
    if (endpoints === undefined) throw new Error('a sign-in was begun without asking its provider');
    if (issuer === undefined ? endpoints.isNamedInAnswers : issuer !== endpoints.issuer)
      throw new ConsoleRefusal(401, 'invalid_issuer', 'Another provider has answered.');
    if (error !== undefined || code === undefined)
      throw new ConsoleRefusal(401, 'provider_refused', 'The identity provider has not signed you in.');
    const tokens = await this.#ask(begun, endpoints, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.#options.redirectUri,
      code_verifier: begun.verifier,
    });
    if (claimsIn(tokens.idToken).nonce !== begun.nonce)
      throw new ConsoleRefusal(401, 'invalid_nonce', 'The ID token is not the one of this sign-in.');
    const renew = (refreshToken: string) =>
      this.#ask(begun, endpoints, { grant_type: 'refresh_token', refresh_token: refreshToken });
    const { next, pageKeyHash, session } = begun;
    return { grant: new ProviderGrant(begun.provider, tokens, renew), next, pageKeyHash, session };
  }

  /**
   * Opens what the browser carries, and uses up its state. Whoever only knows the state ends no sign-in by it.
   * @throws ConsoleRefusal `sign_in_expired` for a state that is over, was used, or isn't of this process; `sign_in_of_another`
   */
  #takeBegun(state: string, browser: readonly string[]): BegunSignIn {
    const endsAtMs = this.#seals.endOf(state);
    const nowMs = this.#now();
    if (endsAtMs === undefined || endsAtMs <= nowMs || this.#answered.has(state))
      throw new ConsoleRefusal(401, 'sign_in_expired', 'This sign-in was finished, or took too long.');
    let begun: BegunSignIn | undefined;
    for (const text of browser) begun ??= this.#seals.open(text, state);
    if (begun === undefined)
      throw new ConsoleRefusal(401, 'sign_in_of_another', 'This sign-in was begun in another browser.');
    for (const [oldest, endMs] of this.#answered)
      if (endMs <= nowMs || this.#answered.size >= signInBounds.answeredMax) this.#answered.delete(oldest);
      else break;
    this.#answered.set(state, endsAtMs);
    return begun;
  }

  #ask(
    { provider, clientId }: BegunSignIn,
    endpoints: ProviderEndpoints,
    grant: Readonly<Record<string, string>>,
  ): Promise<ProviderTokens> {
    const secret = this.#secretFor(provider, endpoints);
    return askForTokens(this.#options.outbound, endpoints, { id: clientId, secret }, grant);
  }

  /** @throws ConsoleRefusal where the provider's token endpoint is not where the secret may be sent */
  #secretFor(provider: string, { token }: ProviderEndpoints): string | undefined {
    const secret = this.#options.providers.get(provider);
    if (secret === undefined) return undefined;
    const { origin } = new URL(token);
    const address = secret.address ?? this.#addresses.get(provider) ?? origin;
    this.#addresses.set(provider, address);
    if (origin !== address)
      throw new ConsoleRefusal(
        409,
        'secret_address_changed',
        `The client secret of this provider was entered for ${address}, but its token endpoint is at ${origin}. An operator has to update BATON_CONSOLE_SECRETS_FILE.`,
      );
    return secret.text;
  }
}

/** What a person's provider has granted: an ID token, and perhaps what renews it. */
export class ProviderGrant {
  readonly provider: string;
  readonly #renew: (refreshToken: string) => Promise<ProviderTokens>;
  readonly #subject: string;
  #tokens: ProviderTokens;
  #renewing: Promise<ProviderTokens> | undefined;

  constructor(
    provider: string,
    tokens: ProviderTokens,
    renew: (refreshToken: string) => Promise<ProviderTokens>,
  ) {
    this.provider = provider;
    this.#tokens = tokens;
    this.#subject = claimsIn(tokens.idToken).subject;
    this.#renew = renew;
  }

  /**
   * An ID token that is still good. Where it is over it is renewed, once for all who ask meanwhile: a refresh token is
   * often good once.
   * @throws ConsoleRefusal 401 where the grant is over, 503 where the provider does not answer
   */
  async idToken(): Promise<string> {
    if (claimsIn(this.#tokens.idToken).endsAtMs - leewayMs > Date.now()) return this.#tokens.idToken;
    this.#renewing ??= this.#renewed().finally(() => {
      this.#renewing = undefined;
    });
    this.#tokens = await this.#renewing;
    return this.#tokens.idToken;
  }

  async #renewed(): Promise<ProviderTokens> {
    const { refreshToken } = this.#tokens;
    const over = () =>
      new ConsoleRefusal(
        401,
        'sign_in_over',
        'Your sign-in at the identity provider is over: sign in again.',
      );
    if (refreshToken === undefined) throw over();
    const tokens = await this.#renew(refreshToken).catch((error: unknown) => {
      throw error instanceof ConsoleRefusal && error.status === 401 ? over() : error;
    });
    if (claimsIn(tokens.idToken).subject !== this.#subject) throw over();
    return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
  }
}

/** A path of the console, never another site. */
function localPath(next: string): string {
  const own = 'http://console';
  if (!next.startsWith('/') || next.length > signInBounds.nextCharactersMax || !URL.canParse(next, own))
    return '/';
  const { origin, pathname, search } = new URL(next, own);
  // A path that begins with two slashes names another host.
  return origin === own && !pathname.startsWith('//') ? pathname + search : '/';
}

function newKey(): string {
  return randomBytes(32).toString('base64url');
}
