import type { JSONRPCMessage, McpServer } from '@modelcontextprotocol/server';
import { type JournalWatch, listenedMax } from './journal-watch.ts';

/** The resources in a request to listen (2026-07-28); undefined for any other request. */
export function listenedIn(message: object | undefined): readonly string[] | undefined {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: Listen };
  if (method !== 'subscriptions/listen') return undefined;
  const uris = params?.notifications?.resourceSubscriptions;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
}

interface Listen {
  readonly notifications?: { readonly resourceSubscriptions?: unknown };
}

/** The subscriptions of a connection's client, in the 2025 and 2026 protocol versions. */
export class Listeners {
  readonly #journal: JournalWatch;
  /**
   * Functions that end the subscriptions, by the id of the request, or by the address in the 2025 protocol versions.
   */
  readonly #stops = new Map<unknown, () => void>();

  constructor(journal: JournalWatch) {
    this.#journal = journal;
  }

  /** Receives each message before the server does. @returns a promise to await, if any */
  hear(message: JSONRPCMessage): Promise<void> | undefined {
    const uris = listenedIn(message);
    if (uris !== undefined && 'id' in message && this.#stops.size < listenedMax)
      return this.#start(message.id, uris);
    if ('method' in message && message.method === 'notifications/cancelled')
      this.#stop((message.params as { requestId?: unknown } | undefined)?.requestId);
    return undefined;
  }

  /** Handles `resources/subscribe` and `resources/unsubscribe` of clients with a 2025 protocol version. */
  answerSubscribe({ server }: McpServer): void {
    if (server.getCapabilities().resources?.subscribe !== true) return;
    server.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
      if (!this.#stops.has(uri) && this.#stops.size >= listenedMax)
        throw new TypeError(`a client listens to ${listenedMax} resources at most`);
      await this.#start(uri, [uri]);
      return {};
    });
    server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
      this.#stop(uri);
      return {};
    });
  }

  async #start(key: unknown, uris: readonly string[]): Promise<void> {
    // While Baton is unavailable, there are no notifications; the client reads the journal afterwards.
    const stop = await this.#journal.listen(uris).catch(() => () => undefined);
    this.#stop(key);
    this.#stops.set(key, stop);
  }

  #stop(key: unknown): void {
    this.#stops.get(key)?.();
    this.#stops.delete(key);
  }
}
