import pg from 'pg';

/** TCP keepalive starts after this time of silence; the system gives up after 10 probes, one per second. */
const keepAliveAfterMs = 10_000;
/** An orderly close would keep the socket of an unreachable server open for 15 minutes. */
const goodbyeMsMax = 2000;

/** A connection that measures how long it has waited for a response, and that can be destroyed at once. */
export class BoundedClient extends pg.Client {
  #unanswered = 0;
  #heardAtMs = performance.now();
  #silentSinceMs = 0;

  constructor(config: pg.ClientConfig = {}) {
    super({ ...config, keepAlive: true, keepAliveInitialDelayMillis: keepAliveAfterMs });
    // When the server ends a connection, 'error' may be emitted in the same iteration of the event loop in which the
    // pool hands the connection over. At that moment the pool's listener has been removed and the next owner's isn't
    // registered yet, so the event would end the process. The next statement fails anyway.
    this.on('error', () => undefined);
    this.connection.on('readyForQuery', () => {
      this.#unanswered = Math.max(0, this.#unanswered - 1);
      this.#heardAtMs = this.#silentSinceMs = performance.now();
    });
  }

  /** When the oldest statement without a response began to wait, on the clock of `performance.now()`. */
  get silentSinceMs(): number | undefined {
    return this.#unanswered > 0 ? this.#silentSinceMs : undefined;
  }

  /** The time of the last response, on the clock of `performance.now()`. */
  get heardAtMs(): number {
    return this.#heardAtMs;
  }

  /** The server process id as reported by the server; a pooler reports an id that it generated. */
  get pid(): number {
    return (this as unknown as { processID: number }).processID;
  }

  override query(...args: never[]): never {
    if (this.#unanswered === 0) this.#silentSinceMs = performance.now();
    this.#unanswered += 1;
    return Reflect.apply(super.query, this, args) as never;
  }

  override end(...args: never[]): never {
    const late = setTimeout(() => this.discard(), goodbyeMsMax).unref();
    this.once('end', () => clearTimeout(late));
    return Reflect.apply(super.end, this, args) as never;
  }

  /** Closes the socket at once; statements in progress fail as unreachable. */
  discard(): void {
    this.connection.stream.destroy();
  }
}
