import type { IncomingMessage } from 'node:http';
import type { IssuedToken } from '@baton/sdk';
import { readPageKey, readSessionKeys } from './cookies.ts';
import { ConsoleRefusal } from './refusal.ts';
import { toRefusal } from './responses.ts';
import type { Sessions } from './sessions.ts';
import { publicToken, readSubject, type TokenExchange } from './token-exchange.ts';

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
  closeEarlier(req: IncomingMessage): void {
    for (const key of readSessionKeys(req)) this.#sessions.close(key);
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
    const { key, session } = this.find(req) ?? {};
    if (key === undefined || session === undefined)
      throw new ConsoleRefusal(401, 'signed_out', 'This browser is not signed in.');
    try {
      const issued = await (session.grant === undefined
        ? this.#exchange.exchangeToken(req, session.token)
        : this.#exchange.exchangeGrant(req, session.grant));
      return { ...publicToken(issued), person: readSubject(issued, session.subject) };
    } catch (error) {
      const { status, code, message } = toRefusal(error);
      if (status === 429 || status >= 500) throw error;
      // The token has expired, or the provider or the identity service no longer accepts this person.
      this.#sessions.close(key);
      throw new ConsoleRefusal(401, code, message);
    }
  }
}
