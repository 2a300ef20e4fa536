import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  askForTokens,
  claimsIn,
  discover,
  type Outbound,
  type ProviderEndpoints,
  type ProviderTokens,
  type RegisteredProvider,
} from './provider.ts';
import { ConsoleRefusal } from './refusal.ts';

export interface ProviderSignInOptions {
  readonly tenantId: string;
  /** The one address to which providers send browsers back. */
  readonly redirectUri: string;
  /** Keys of the providers that are offered, each with the secret of the console's client there, if it has one. */
  readonly providers: ReadonlyMap<string, string | undefined>;
  /** Reads a provider from identity. @throws where there is none */
  read(key: string): Promise<RegisteredProvider>;
  readonly outbound: Outbound;
}

/** What a provider sent along with a browser. */
export interface ProviderAnswer {
  readonly state: string;
  readonly code: string | undefined;
  readonly issuer: string | undefined;
  readonly error: string | undefined;
}

/** A sign-in that a browser has begun. */
interface Begun {
  readonly provider: string;
  readonly clientId: string;
  readonly endpoints: ProviderEndpoints;
  readonly nonce: string;
  readonly verifier: string;
  readonly browser: string;
  readonly next: string;
  readonly pageKeyHash: string | undefined;
  readonly session: string | undefined;
  readonly endsAtMs: number;
}

export const signInBounds = { begunMax: 1000, lastsMsMax: 600_000 };

/** An ID token is used until so long before its end, so that it does not end on its way. */
const leewayMs = 10_000;

/**
 * Signs browsers in through the tenant's identity providers: authorization code, with PKCE, state and nonce. All of it
 * happens in this process; a browser gets no more than the address of the provider and a cookie.
 */
export class ProviderSignIn {
  readonly #options: ProviderSignInOptions;
  readonly #begun = new Map<string, Begun>();
  readonly #now: () => number;

  /** @param now milliseconds of a clock that does not go back */
  constructor(options: ProviderSignInOptions, now: () => number = () => performance.now()) {
    this.#options = options;
    this.#now = now;
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
   * @returns the provider's address, and a key for the browser's cookie, without which nobody can finish
   * @throws ConsoleRefusal
   */
  async begin(
    provider: string,
    next: string,
    pageKeyHash?: string,
    session?: string,
  ): Promise<{ url: string; browser: string }> {
    const { providers, read, outbound, redirectUri } = this.#options;
    const registered = providers.has(provider) ? await read(provider).catch(() => undefined) : undefined;
    if (registered?.status !== 'active')
      throw new ConsoleRefusal(404, 'identity_provider_not_found', 'Nobody signs in through this provider.');
    const endpoints = await discover(outbound, registered.issuer);
    const [state, nonce, verifier, browser] = [newKey(), newKey(), newKey(), newKey()];
    const nowMs = this.#now();
    for (const [key, { endsAtMs }] of this.#begun)
      if (endsAtMs <= nowMs || this.#begun.size >= signInBounds.begunMax) this.#begun.delete(key);
      else break;
    this.#begun.set(hashOf(state), {
      provider,
      clientId: registered.audience,
      endpoints,
      nonce,
      verifier,
      browser: hashOf(browser),
      next: localPath(next),
      pageKeyHash,
      session,
      endsAtMs: nowMs + signInBounds.lastsMsMax,
    });
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
   * Finishes a sign-in. Whatever comes of it, its state is used up.
   * @param browser what the browser's cookie holds
   * @returns what renews its access tokens, where in the console to go, and page and session that it began with
   * @throws ConsoleRefusal
   */
  async finish(
    { state, code, issuer, error }: ProviderAnswer,
    browser: string,
  ): Promise<{ grant: ProviderGrant } & Pick<Begun, 'next' | 'pageKeyHash' | 'session'>> {
    const key = hashOf(state);
    const begun = this.#begun.get(key);
    this.#begun.delete(key);
    if (begun === undefined || begun.endsAtMs <= this.#now())
      throw new ConsoleRefusal(401, 'sign_in_expired', 'This sign-in was finished, or took too long.');
    if (!timingSafeEqual(Buffer.from(begun.browser), Buffer.from(hashOf(browser))))
      throw new ConsoleRefusal(401, 'sign_in_of_another', 'This sign-in was begun in another browser.');
    const { endpoints } = begun;
    if (issuer === undefined ? endpoints.isNamedInAnswers : issuer !== endpoints.issuer)
      throw new ConsoleRefusal(401, 'invalid_issuer', 'Another provider has answered.');
    if (error !== undefined || code === undefined)
      throw new ConsoleRefusal(401, 'provider_refused', 'The identity provider has not signed you in.');
    const tokens = await this.#ask(begun, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.#options.redirectUri,
      code_verifier: begun.verifier,
    });
    if (claimsIn(tokens.idToken).nonce !== begun.nonce)
      throw new ConsoleRefusal(401, 'invalid_nonce', 'The ID token is not the one of this sign-in.');
    const renew = (refreshToken: string) =>
      this.#ask(begun, { grant_type: 'refresh_token', refresh_token: refreshToken });
    const { next, pageKeyHash, session } = begun;
    return { grant: new ProviderGrant(begun.provider, tokens, renew), next, pageKeyHash, session };
  }

  #ask(
    { provider, clientId, endpoints }: Begun,
    grant: Readonly<Record<string, string>>,
  ): Promise<ProviderTokens> {
    const { outbound, providers } = this.#options;
    return askForTokens(outbound, endpoints, { id: clientId, secret: providers.get(provider) }, grant);
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
  if (!next.startsWith('/') || !URL.canParse(next, own)) return '/';
  const { origin, pathname, search } = new URL(next, own);
  // A path that begins with two slashes names another host.
  return origin === own && !pathname.startsWith('//') ? pathname + search : '/';
}

function newKey(): string {
  return randomBytes(32).toString('base64url');
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}
