import type { CredentialStreams, StreamRegistry } from './stream-registry.ts';

export interface RecheckOptions {
  readonly registry: StreamRegistry;
  /** Within this time each credential is looked at once. */
  readonly pollMs: number;
  /** Looks at one credential, and ends its streams where it has lost its rights. It never rejects. */
  check(streams: CredentialStreams): Promise<void>;
}

const tickMs = 25;
/** Each may read its binding: more at once would only wait for connections, and be refused when too many wait. */
const underWayMax = 250;
/** Done a little before its time, so that a busy moment makes no stream late. */
const roundShare = 0.8;

/**
 * Looks at the rights of open streams again and again (core, section 23 W3), a few at a time: 10,000 at once held the event
 * loop for 150 ms, and with as many bindings to read some streams were ended because too many waited.
 */
export class Rechecks {
  readonly #options: RecheckOptions;
  readonly #timer: NodeJS.Timeout;
  /** How many may be looked at now, to be done with all of them in time. */
  #allowed = 0;
  /** How many are to be looked at as fast as the store answers. */
  #urgent = 0;
  #underWay = 0;

  constructor(options: RecheckOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), tickMs).unref();
  }

  /** All of them, soon. */
  all(): void {
    this.#urgent = this.#options.registry.credentialCount;
    this.#tick();
  }

  /** One of them now. */
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
