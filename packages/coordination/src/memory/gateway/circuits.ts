/** When a circuit opens, and for how long. */
export interface CircuitBounds {
  /** Failures in a row after which no more calls are let through. */
  readonly failuresMax: number;
  /** How long that lasts; it doubles whenever the call after it fails too. */
  readonly pauseMs: number;
  readonly pauseMsMax: number;
  /** Keys that are remembered; the one that failed first is forgotten. */
  readonly keysMax: number;
}

interface Circuit {
  failures: number;
  pauseMs: number;
  openUntilMs: number;
  /** A call that finds out whether the other side is back. */
  isTrying: boolean;
}

/**
 * Keeps calls from a service that fails again and again, by key (a tenant): the failures of one tenant's calls don't cut
 * others off. After a pause one call is let through; the circuit closes when it succeeds.
 */
export class Circuits {
  readonly #bounds: CircuitBounds;
  readonly #now: () => number;
  /** An entry exists only while the last call of its key failed. */
  readonly #failing = new Map<string, Circuit>();

  /** @param now milliseconds on a clock that never goes back */
  constructor(bounds: CircuitBounds, now: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /**
   * Lets a call begin; whoever may call says afterwards how it ended.
   * @returns how many seconds to wait where it may not, else undefined
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

  /** The call was given up by who made it, and says nothing of the other side. */
  abandoned(key: string): void {
    const circuit = this.#failing.get(key);
    if (circuit !== undefined) circuit.isTrying = false;
  }

  failed(key: string): void {
    const { failuresMax, pauseMs, pauseMsMax, keysMax } = this.#bounds;
    const circuit = this.#failing.get(key) ?? { failures: 0, pauseMs, openUntilMs: 0, isTrying: false };
    // A call that began before the circuit opened: its failure is no news.
    if (circuit.failures >= failuresMax && !circuit.isTrying) return;
    if (circuit.isTrying) circuit.pauseMs = Math.min(circuit.pauseMs * 2, pauseMsMax);
    circuit.failures += 1;
    circuit.isTrying = false;
    if (circuit.failures >= failuresMax) circuit.openUntilMs = this.#now() + circuit.pauseMs;
    const [oldest] = this.#failing.keys();
    if (!this.#failing.has(key) && this.#failing.size >= keysMax) this.#failing.delete(oldest as string);
    this.#failing.set(key, circuit);
  }

  /** Keys whose calls are kept back now. */
  openCount(): number {
    let open = 0;
    for (const { failures, openUntilMs } of this.#failing.values())
      if (failures >= this.#bounds.failuresMax && openUntilMs > this.#now()) open += 1;
    return open;
  }
}
