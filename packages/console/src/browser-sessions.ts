import type { IncomingMessage } from 'node:http';
import type { IssuedToken } from '@baton/sdk';
import { readPageKey, readSessionKeys } from './cookies.ts';
import type { ProviderGrant } from './provider-sign-in.ts';
import { ConsoleRefusal } from './refusal.ts';
import { toRefusal } from './responses.ts';
import type { Sessions } from './sessions.ts';
import { type Identity, publicToken, readSubject, type TokenExchange } from './token-exchange.ts';

/** Finds and ends the sessions of the browser that sends a request. */
export class BrowserSessions {
  readonly #sessions: Sessions;
  readonly #exchange: TokenExchange;
  readonly #isSecure: boolean;

  /** @param isSecure whether browsers use https */
  constructor(sessions: Sessions, exchange: TokenExchange, isSecure: boolean) {
    this.#sessions = sessions;
    this.#exchange = exchange;
    this.#isSecure = isSecure;
  }

  /**
   * The session of the page that sends the request. Another port of this host can plant cookies of the same name. They
   * don't match the page's key, and don't hide the one that does.
   * @throws ConsoleRefusal if the page sends no key
   */
  find(req: IncomingMessage) {
    const pageKey = readPageKey(req);
    for (const key of readSessionKeys(req, this.#isSecure)) {
      const session = this.#sessions.use(key, pageKey);
      if (session !== undefined) return { key, session };
    }
    return undefined;
  }

  /** Closes the browser's earlier sessions: once a new sign-in has replaced their cookie, nobody could end them. */
  async closeEarlier(req: IncomingMessage): Promise<void> {
    await Promise.all(readSessionKeys(req, this.#isSecure).map((key) => this.close(req, key, 'replaced')));
  }

  /**
   * Closes a session, and ends it in identity. If identity doesn't respond, the session is closed anyway: nobody holds
   * its secret any longer.
   */
  async close(req: IncomingMessage, key: string, reason: 'logout' | 'replaced'): Promise<void> {
    const token = this.#sessions.close(key)?.secret;
    if (token === undefined) return;
    await this.#exchange
      .run(req, ({ browserSessions }) => browserSessions.endOwn({ token, reason }))
      .catch(() => undefined);
  }

  /** Whether the page's session belongs to somebody else. */
  isOfAnother(req: IncomingMessage, subject: string): boolean {
    const owner = this.find(req)?.session.subject;
    return owner !== undefined && owner !== subject;
  }

  /**
   * Issues an access token to the owner of the browser's session.
   * @returns the token and its owner, because another tab may have signed in as somebody else meanwhile
   * @throws ConsoleRefusal if there is no session, or its credential has ended
   */
  async issueToken(req: IncomingMessage): Promise<IssuedToken & { person: string }> {
    const { key, session } = this.require(req);
    const { secret } = session;
    await this.#confirm(req, key, session.grant);
    const issued = await this.#orClose(key, isEnded, () =>
      secret === undefined
        ? this.#exchange.exchangeToken(req, session.token)
        : this.#exchange.exchangeSession(req, secret),
    );
    return { ...publicToken(issued), person: readSubject(issued, session.subject) };
  }

  /** @throws ConsoleRefusal 401 if this page has no session */
  require(req: IncomingMessage) {
    const found = this.find(req);
    if (found === undefined) throw signedOut();
    return found;
  }

  /**
   * Calls identity with the secret of the browser's session.
   * @throws ConsoleRefusal 409 `browser_session_required` for a sign-in by a token; 401 if the session has ended
   */
  async asPerson<Answer>(
    req: IncomingMessage,
    call: (identity: Identity, secret: string) => Promise<Answer>,
  ): Promise<Answer> {
    const { key, session } = this.require(req);
    const { secret, grant } = session;
    if (secret === undefined)
      throw new ConsoleRefusal(
        409,
        'browser_session_required',
        'Sign in with a passkey or an identity provider to do this.',
      );
    await this.#confirm(req, key, grant);
    return this.#orClose(key, isEnded, () => this.#exchange.run(req, (identity) => call(identity, secret)));
  }

  /** Closes the session of a person whom the provider or identity no longer accepts. */
  async #confirm(req: IncomingMessage, key: string, grant: ProviderGrant | undefined): Promise<void> {
    if (grant !== undefined)
      await this.#orClose(key, isUnconfirmed, () => this.#exchange.confirmGrant(req, grant));
  }

  /** Closes the session if the error means that its credential is invalid. Other errors concern only the request. */
  async #orClose<Answer>(
    key: string,
    isEnd: (refusal: Pick<ConsoleRefusal, 'status' | 'code'>) => boolean,
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      const refusal = toRefusal(error);
      if (!isEnd(refusal)) throw error;
      this.#sessions.close(key);
      throw new ConsoleRefusal(401, refusal.code, refusal.message);
    }
  }
}

export function signedOut(): ConsoleRefusal {
  return new ConsoleRefusal(401, 'signed_out', 'This browser is not signed in.');
}

/**
 * Whether identity no longer accepts a token or the secret of a browser session; both have the same code. An error
 * about the object of a request, such as a passkey or a grant that doesn't exist, doesn't end the session.
 */
function isEnded({ status, code }: Pick<ConsoleRefusal, 'status' | 'code'>): boolean {
  return status === 401 && code === 'invalid_token';
}

/**
 * Whether the provider refused to renew a person's ID token, or identity refused the renewed token because of the
 * token, the person or the provider.
 */
function isUnconfirmed({ status, code }: Pick<ConsoleRefusal, 'status' | 'code'>): boolean {
  return (
    status === 401 ||
    status === 403 ||
    ['external_identity_conflict', 'identity_provider_not_found', 'tenant_not_found'].includes(code)
  );
}
