import type { IncomingMessage } from 'node:http';
import type { IssuedToken } from '@baton/sdk';
import { readPageKey, readSessionKeys } from './cookies.ts';
import { ConsoleRefusal } from './refusal.ts';
import { toRefusal } from './responses.ts';
import type { Sessions } from './sessions.ts';
import { type Identity, publicToken, readSubject, type TokenExchange } from './token-exchange.ts';

/** Finds and ends the sessions of the browser that sends a request. */
export class BrowserSessions {
  readonly #sessions: Sessions;
  readonly #exchange: TokenExchange;

  constructor(sessions: Sessions, exchange: TokenExchange) {
    this.#sessions = sessions;
    this.#exchange = exchange;
  }

  /**
   * The session of the page that sends the request. Another port of this host can plant cookies of the same name. They
   * don't match the page's key, and don't hide the one that does.
   * @throws ConsoleRefusal if the page sends no key
   */
  find(req: IncomingMessage) {
    const pageKey = readPageKey(req);
    for (const key of readSessionKeys(req)) {
      const session = this.#sessions.use(key, pageKey);
      if (session !== undefined) return { key, session };
    }
    return undefined;
  }

  /** Closes the browser's earlier sessions: once a new sign-in has replaced their cookie, nobody could end them. */
  async closeEarlier(req: IncomingMessage): Promise<void> {
    await Promise.all(readSessionKeys(req).map((key) => this.close(req, key, 'replaced')));
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
    const issued = await this.#orClose(key, async () => {
      if (session.secret === undefined) return this.#exchange.exchangeToken(req, session.token);
      if (session.grant !== undefined) await this.#exchange.confirmGrant(req, session.grant);
      return this.#exchange.exchangeSession(req, session.secret);
    });
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
    return this.#orClose(key, async () => {
      if (grant !== undefined) await this.#exchange.confirmGrant(req, grant);
      return this.#exchange.run(req, (identity) => call(identity, secret));
    });
  }

  /** Closes the session if its credential is rejected. */
  async #orClose<Answer>(key: string, call: () => Promise<Answer>): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      const { status, code, message } = toRefusal(error);
      if (status === 429 || status >= 500 || isOfRequest(code)) throw error;
      // The token has expired, or the provider or the identity service no longer accepts this person.
      this.#sessions.close(key);
      throw new ConsoleRefusal(401, code, message);
    }
  }
}

export function signedOut(): ConsoleRefusal {
  return new ConsoleRefusal(401, 'signed_out', 'This browser is not signed in.');
}

/** The errors of a request with a valid session. */
function isOfRequest(code: string): boolean {
  return [
    'agent_not_connectable',
    'audience_not_allowed',
    'authentication_context_expired',
    'browser_session_not_found',
    'invalid_authorization_request',
    'invalid_request',
    'invalid_user_code',
    'last_passkey',
    'passkey_exists',
    'passkey_not_found',
    'passkey_rejected',
    'scope_not_allowed',
    'too_many_passkeys',
    'validation_error',
  ].includes(code);
}
