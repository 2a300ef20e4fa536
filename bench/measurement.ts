/** The result of one round. */
export interface RoundResult {
  readonly latenciesMs: readonly number[];
  readonly seconds: number;
  /** Processor time of the service, over all its threads. */
  readonly serviceCpuSeconds: number;
}

/**
 * The rounds of one variant or workload. Round `n` of each variant ran directly before or after round `n` of the
 * others.
 */
export class Measurement {
  readonly #latenciesMs: number[] = [];
  readonly #ratesPerSecond: number[] = [];
  #seconds = 0;
  #serviceCpuSeconds = 0;

  add({ latenciesMs, seconds, serviceCpuSeconds }: RoundResult): void {
    for (const latencyMs of latenciesMs) this.#latenciesMs.push(latencyMs);
    this.#ratesPerSecond.push(latenciesMs.length / seconds);
    this.#seconds += seconds;
    this.#serviceCpuSeconds += serviceCpuSeconds;
  }

  figures() {
    const sorted = Float64Array.from(this.#latenciesMs).sort();
    const at = (share: number) => Math.round((sorted[Math.ceil(share * sorted.length) - 1] ?? 0) * 100) / 100;
    return {
      count: sorted.length,
      perSecond: Math.round(sorted.length / this.#seconds),
      slowestRound: Math.round(Math.min(...this.#ratesPerSecond)),
      fastestRound: Math.round(Math.max(...this.#ratesPerSecond)),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      /** Processor time of the service per request, over all its threads. */
      serviceCpuMicros: Math.round((this.#serviceCpuSeconds * 1e6) / Math.max(1, sorted.length)),
    };
  }

  /** The median over the rounds of this rate divided by the other's. */
  ratioTo(other: Measurement): number {
    const rates = this.#ratesPerSecond;
    const ratios = rates.map((rate, round) => rate / (other.#ratesPerSecond[round] ?? Number.NaN));
    ratios.sort((left, right) => left - right);
    const middle = ratios.slice(Math.ceil(ratios.length / 2) - 1, Math.floor(ratios.length / 2) + 1);
    return Math.round((100 * middle.reduce((sum, ratio) => sum + ratio, 0)) / middle.length) / 100;
  }
}
