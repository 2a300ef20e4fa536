import type { Logger } from '@baton/kernel/process/log';

const loggedAgainMs = 60_000;
const faultsMax = 2000;

/**
 * Logs the faults of an identity provider: the first time at once, then at most once a minute while they last, because
 * anyone can cause such faults at any rate with forged tokens.
 */
export class ProviderFaults {
  readonly #log: Logger;
  readonly #nowMs: () => number;
  /** Faults in the order of their last log line. */
  readonly #faults = new Map<string, { loggedAtMs: number; unlogged: number }>();

  constructor(log: Logger, nowMs: () => number = () => performance.now()) {
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /**
   * @param fault the kind of fault; each kind is logged at most once a minute per provider
   */
  note(providerId: string, fault: string, about: object, message: string): void {
    const name = `${providerId} ${fault}`;
    const known = this.#faults.get(name);
    const nowMs = this.#nowMs();
    if (known !== undefined && nowMs - known.loggedAtMs < loggedAgainMs) {
      known.unlogged += 1;
      return;
    }
    this.#faults.delete(name);
    const [oldest] = this.#faults.keys();
    if (this.#faults.size >= faultsMax && oldest !== undefined) this.#faults.delete(oldest);
    this.#faults.set(name, { loggedAtMs: nowMs, unlogged: 0 });
    const since = known === undefined || known.unlogged === 0 ? {} : { sinceLastLine: known.unlogged };
    this.#log.warn({ ...about, identityProviderId: providerId, ...since }, message);
  }

  /** Ends a fault. @returns whether it had been logged */
  end(providerId: string, fault: string): boolean {
    return this.#faults.delete(`${providerId} ${fault}`);
  }
}
