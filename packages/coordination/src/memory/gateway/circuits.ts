/** When a circuit opens, and for how long. */
export interface CircuitBounds {
  /** The number of consecutive failures after which the circuit opens. */
  readonly failuresMax: number;
  /** How long the circuit stays open; doubles whenever the next call also fails. */
  readonly pauseMs: number;
  readonly pauseMsMax: number;
  /** The maximum number of keys in memory; the key that failed first is evicted. */
  readonly keysMax: number;
}

interface Circuit {
  failures: number;
  pauseMs: number;
  openUntilMs: number;
  /** A call that tests whether the service has recovered. */
  isTrying: boolean;
}

/**
 * A circuit breaker with one circuit per key (a tenant), so that failures of one tenant's calls don't affect others.
 * After a delay, an open circuit allows one call, and closes when that call succeeds.
 */
export class Circuits {
  readonly #bounds: CircuitBounds;
  readonly #now: () => number;
  /** An entry exists only if the last call for its key failed. */
  readonly #failing = new Map<string, Circuit>();

  /** @param now milliseconds on a monotonic clock */
  constructor(bounds: CircuitBounds, now: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /**
   * Starts a call; a caller that may proceed reports the result afterwards.
   * @returns the number of seconds to wait if the circuit is open, otherwise undefined
   */
  enter(key: string): number | undefined {
    const circuit = this.#failing.get(key);
    if (circuit === undefined || circuit.failures < this.#bounds.failuresMax) return undefined;
    const leftMs = circuit.openUntilMs - this.#now();
    if (leftMs > 0 || circuit.isTrying) return Math.max(1, Math.ceil(leftMs / 1000));
    circuit.isTrying = true;
    return undefined;
  }

  succeeded(key: string): void {
    this.#failing.delete(key);
  }

  /** The caller aborted the call, which reveals nothing about the service. */
  abandoned(key: string): void {
    const circuit = this.#failing.get(key);
    if (circuit !== undefined) circuit.isTrying = false;
  }

  failed(key: string): void {
    const { failuresMax, pauseMs, pauseMsMax, keysMax } = this.#bounds;
    const circuit = this.#failing.get(key) ?? { failures: 0, pauseMs, openUntilMs: 0, isTrying: false };
    // The call began before the circuit opened, so its failure changes nothing.
    if (circuit.failures >= failuresMax && !circuit.isTrying) return;
    if (circuit.isTrying) circuit.pauseMs = Math.min(circuit.pauseMs * 2, pauseMsMax);
    circuit.failures += 1;
    circuit.isTrying = false;
    if (circuit.failures >= failuresMax) circuit.openUntilMs = this.#now() + circuit.pauseMs;
    const [oldest] = this.#failing.keys();
    if (!this.#failing.has(key) && this.#failing.size >= keysMax) this.#failing.delete(oldest as string);
    this.#failing.set(key, circuit);
  }

  /** Keys whose circuit is open. */
  openCount(): number {
    let open = 0;
    for (const { failures, openUntilMs } of this.#failing.values())
      if (failures >= this.#bounds.failuresMax && openUntilMs > this.#now()) open += 1;
    return open;
  }
}
