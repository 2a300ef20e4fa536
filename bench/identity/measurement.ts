export type ContenderName = 'exchange' | 'service account' | 'introspection' | 'oidc-provider' | 'signature';

/** What one round of a contender gave. */
export interface RoundResult {
  readonly latenciesMs: readonly number[];
  readonly seconds: number;
  /** Processor time of the service, all its threads. */
  readonly serviceCpuSeconds: number;
}

/** What one contender reached beside the others of its group. */
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
      /** Processor time of the service for one of them, all its threads, in microseconds. */
      serviceCpuMicros: Math.round((this.#serviceCpuSeconds * 1e6) / Math.max(1, sorted.length)),
    };
  }

  /** The median of this rate over the other's, round by round. */
  ratioTo(other: Measurement): number {
    const rates = this.#ratesPerSecond;
    const ratios = rates.map((rate, round) => rate / (other.#ratesPerSecond[round] ?? Number.NaN));
    ratios.sort((left, right) => left - right);
    const middle = ratios.slice(Math.ceil(ratios.length / 2) - 1, Math.floor(ratios.length / 2) + 1);
    return Math.round((100 * middle.reduce((sum, ratio) => sum + ratio, 0)) / middle.length) / 100;
  }
}

export interface MeasuredGroup {
  readonly connections: number;
  /** In the order of the table. */
  readonly measurements: Readonly<Record<ContenderName, Measurement>>;
}

/** All figures, and what the exchanges reach of the others of their group. */
export function reportOf(store: string, groups: readonly MeasuredGroup[]) {
  return {
    store,
    measurements: groups.flatMap(({ connections, measurements }) =>
      Object.entries(measurements).map(([name, measurement]) => ({
        name,
        connections,
        ...measurement.figures(),
      })),
    ),
    ratios: groups.map(({ connections, measurements }) => {
      const { exchange, signature, 'oidc-provider': oidcProvider } = measurements;
      const { p50Ms, p99Ms } = exchange.figures();
      return {
        connections,
        toSignatures: exchange.ratioTo(signature),
        toOidcProvider: exchange.ratioTo(oidcProvider),
        p99ToP50: Math.round((p99Ms / p50Ms) * 10) / 10,
      };
    }),
  };
}

export function printTable({ store, measurements, ratios }: ReturnType<typeof reportOf>): void {
  console.log(`${store}\n`);
  console.log(
    'connections  what               per s   slowest..fastest round   p50 ms   p99 ms   service µs each',
  );
  for (const one of measurements)
    console.log(
      [
        String(one.connections).padStart(11),
        `  ${one.name.padEnd(15)}`,
        String(one.perSecond).padStart(8),
        `${one.slowestRound}..${one.fastestRound}`.padStart(24),
        one.p50Ms.toFixed(2).padStart(8),
        one.p99Ms.toFixed(2).padStart(8),
        String(one.serviceCpuMicros).padStart(17),
      ].join(' '),
    );
  for (const { connections, toSignatures, toOidcProvider, p99ToP50 } of ratios)
    console.log(
      `\nAt ${connections} connections exchanges reach ${toSignatures.toFixed(2)} of the bare signatures of this machine and ${toOidcProvider.toFixed(2)} times the rate of oidc-provider; their p99 is ${p99ToP50.toFixed(1)} times their p50.`,
    );
}
