import type { CredentialStreams, StreamRegistry } from './stream-registry.ts';

export interface RecheckOptions {
  readonly registry: StreamRegistry;
  /** The time in which each credential is checked once. */
  readonly pollMs: number;
  /** Checks one credential and ends its streams if it has lost its rights. It never rejects. */
  check(streams: CredentialStreams): Promise<void>;
}

const tickMs = 25;
/**
 * Each check may read a binding: more at once would only wait for connections, or be refused when the queue is full.
 */
const underWayMax = 250;
/** Rounds finish a little early, so that a busy moment doesn't delay a check. */
const roundShare = 0.8;

/**
 * Checks the rights of open streams repeatedly, a few at a time: checking 10,000 at once blocked the event loop for 150
 * ms, and with as many bindings to read some streams were ended because the queue was full. See
 * docs/reference/journal.md#streams.
 */
export class Rechecks {
  readonly #options: RecheckOptions;
  readonly #timer: NodeJS.Timeout;
  /** The number of checks that may start now, to finish all of them in time. */
  #allowed = 0;
  /** The number of checks to run as fast as the store responds. */
  #urgent = 0;
  #underWay = 0;

  constructor(options: RecheckOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), tickMs).unref();
  }

  /** Checks all credentials soon. */
  all(): void {
    this.#urgent = this.#options.registry.credentialCount;
    this.#tick();
  }

  /** Checks one credential now. */
  now(streams: CredentialStreams): void {
    this.#underWay += 1;
    void this.#options.check(streams).finally(() => {
      this.#underWay -= 1;
    });
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const { registry, pollMs } = this.#options;
    const usual = (registry.credentialCount * tickMs) / (pollMs * roundShare);
    this.#allowed = Math.min(registry.credentialCount, Math.max(this.#urgent, this.#allowed + usual));
    for (; this.#allowed >= 1 && this.#underWay < underWayMax; this.#allowed -= 1) {
      const next = registry.next();
      if (next === undefined) return;
      this.#urgent = Math.max(0, this.#urgent - 1);
      this.now(next);
    }
  }
}
