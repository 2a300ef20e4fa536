import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server';

/**
 * The maximum number of concurrent requests of a client. Further requests are queued, and rejected if the queue is
 * full.
 */
export const requestsMax = 16;
export const waitingMax = 200;

/**
 * Limits a client's concurrent requests. 5,000 concurrent calls caused 5,000 requests to Baton, which rejected 629 of
 * them with 503, and the heartbeats of the client's own leases were queued behind them.
 */
export class Pace {
  readonly #deliver: (message: JSONRPCMessage) => void;
  readonly #refuse: (id: RequestId, why: string) => void;
  readonly #underWay = new Set<RequestId>();
  readonly #waiting = new Map<RequestId, JSONRPCMessage>();

  /**
   * @param refuse rejects a request beyond the limit; the rejection must not count as the response to an earlier
   * request with the same id
   */
  constructor(deliver: (message: JSONRPCMessage) => void, refuse: (id: RequestId, why: string) => void) {
    this.#deliver = deliver;
    this.#refuse = refuse;
  }

  /** Accepts a message of the client, and passes it on now or later. */
  receive(message: JSONRPCMessage): void {
    if (!('method' in message)) return this.#deliver(message);
    if (!('id' in message)) {
      const { requestId } = (message.params ?? {}) as { requestId?: RequestId };
      if (message.method === 'notifications/cancelled' && requestId !== undefined) {
        // Queued requests are not started; running ones no longer get a response.
        if (this.#waiting.delete(requestId)) return;
        this.#deliver(message);
        return this.answered(requestId);
      }
      return this.#deliver(message);
    }
    // Not counted, because this request would never free its slot: it gets its response only when the client
    // disconnects.
    if (message.method === 'subscriptions/listen') return this.#deliver(message);
    // Requests are counted by id, so a second request with an id in use would not be counted.
    if (this.#underWay.has(message.id) || this.#waiting.has(message.id))
      return this.#refuse(message.id, 'This id is in use: wait for its answer first.');
    if (this.#underWay.size < requestsMax) return this.#begin(message.id, message);
    if (this.#waiting.size >= waitingMax)
      return this.#refuse(message.id, 'Too many requests at once: wait for answers first.');
    this.#waiting.set(message.id, message);
  }

  /** Records a response, which starts the next request. */
  answered(id: RequestId): void {
    if (!this.#underWay.delete(id)) return;
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next[0]);
    this.#begin(...next);
  }

  #begin(id: RequestId, message: JSONRPCMessage): void {
    this.#underWay.add(id);
    this.#deliver(message);
  }
}
