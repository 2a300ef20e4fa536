import pg from 'pg';

/** An idle connection is asked for life after this; the system then gives up after 10 probes, one in a second. */
const keepAliveAfterMs = 10_000;
/** A goodbye to a server that is gone would keep the socket for a quarter of an hour. */
const goodbyeMsMax = 2000;

/** A connection that knows how long it has waited for an answer, and that can be given up at once. */
export class BoundedClient extends pg.Client {
  #unanswered = 0;
  #heardAtMs = performance.now();
  #silentSinceMs = 0;

  constructor(config: pg.ClientConfig = {}) {
    super({ ...config, keepAlive: true, keepAliveInitialDelayMillis: keepAliveAfterMs });
    // When the server ends a connection, 'error' may come in the turn in which the pool hands the connection over: its own
    // listener is off by then, the next owner's isn't on, and the event would end the process. The next statement fails anyway.
    this.on('error', () => undefined);
    this.connection.on('readyForQuery', () => {
      this.#unanswered = Math.max(0, this.#unanswered - 1);
      this.#heardAtMs = this.#silentSinceMs = performance.now();
    });
  }

  /** Since when a statement waits and nothing was answered, on the clock of `performance.now()`. */
  get silentSinceMs(): number | undefined {
    return this.#unanswered > 0 ? this.#silentSinceMs : undefined;
  }

  /** When the last statement was answered, on the clock of `performance.now()`. */
  get heardAtMs(): number {
    return this.#heardAtMs;
  }

  /** The server process, as the server named it; a pooler names one of its own making. */
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

  /** Closes the socket without a goodbye; statements under way fail as unreachable. */
  discard(): void {
    this.connection.stream.destroy();
  }
}
