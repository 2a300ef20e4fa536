import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server';

/** Requests of a client that are under way at a time; those after them wait, and more than that are refused. */
export const requestsMax = 16;
export const waitingMax = 200;

/**
 * Lets a client's requests go on a few at a time. 5,000 calls that were sent at once made 5,000 requests to Baton, which
 * answered 629 of them with 503; and the heartbeats of the client's own leases stood behind them.
 */
export class Pace {
  readonly #deliver: (message: JSONRPCMessage) => void;
  readonly #refuse: (id: RequestId, why: string) => void;
  readonly #underWay = new Set<RequestId>();
  readonly #waiting = new Map<RequestId, JSONRPCMessage>();

  /** @param refuse answers a request that is one too many; that must not count as the answer to another one of its id */
  constructor(deliver: (message: JSONRPCMessage) => void, refuse: (id: RequestId, why: string) => void) {
    this.#deliver = deliver;
    this.#refuse = refuse;
  }

  /** Takes a message of the client: hands it on now or later. */
  receive(message: JSONRPCMessage): void {
    if (!('method' in message)) return this.#deliver(message);
    if (!('id' in message)) {
      const { requestId } = (message.params ?? {}) as { requestId?: RequestId };
      if (message.method === 'notifications/cancelled' && requestId !== undefined) {
        // What still waits was not begun; what is under way is not answered any more.
        if (this.#waiting.delete(requestId)) return;
        this.#deliver(message);
        return this.answered(requestId);
      }
      return this.#deliver(message);
    }
    // It is answered when the client goes.
    if (message.method === 'subscriptions/listen') return this.#deliver(message);
    // They are counted by their ids: the same id again would not count.
    if (this.#underWay.has(message.id) || this.#waiting.has(message.id))
      return this.#refuse(message.id, 'This id is in use: wait for its answer first.');
    if (this.#underWay.size < requestsMax) return this.#begin(message.id, message);
    if (this.#waiting.size >= waitingMax)
      return this.#refuse(message.id, 'Too many requests at once: wait for answers first.');
    this.#waiting.set(message.id, message);
  }

  /** A request was answered: the next one goes on. */
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
