/** What one contender reached at one number of connections. */
export class Measurement {
  readonly name: string;
  readonly connections: number;
  readonly #latenciesMs: number[] = [];
  readonly #ratesPerSecond: number[] = [];
  #seconds = 0;
  #serviceCpuSeconds = 0;

  constructor(name: string, connections: number) {
    this.name = name;
    this.connections = connections;
  }

  add(latenciesMs: readonly number[], seconds: number, serviceCpuSeconds: number): void {
    for (const latencyMs of latenciesMs) this.#latenciesMs.push(latencyMs);
    this.#ratesPerSecond.push(latenciesMs.length / seconds);
    this.#seconds += seconds;
    this.#serviceCpuSeconds += serviceCpuSeconds;
  }

  figures() {
    const sorted = Float64Array.from(this.#latenciesMs).sort();
    const at = (share: number) => round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
    return {
      name: this.name,
      connections: this.connections,
      claims: sorted.length,
      claimsPerSecond: Math.round(sorted.length / this.#seconds),
      slowestRound: Math.round(Math.min(...this.#ratesPerSecond)),
      fastestRound: Math.round(Math.max(...this.#ratesPerSecond)),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      /** Processor time of the service for one claim, in microseconds. */
      serviceCpuMicros: Math.round((this.#serviceCpuSeconds * 1e6) / Math.max(1, sorted.length)),
    };
  }
}

/** Prints all measurements and, for each number of connections, the ratio of the first contender to the second. */
export function printTable(store: string, measurements: readonly Measurement[]): void {
  const figures = measurements.map((measurement) => measurement.figures());
  console.log(`${store}\n`);
  console.log(
    'connections  way            claims/s   slowest..fastest round   p50 ms   p99 ms   service µs/claim',
  );
  for (const one of figures)
    console.log(
      [
        String(one.connections).padStart(11),
        `  ${one.name.padEnd(12)}`,
        String(one.claimsPerSecond).padStart(8),
        `${one.slowestRound}..${one.fastestRound}`.padStart(25),
        one.p50Ms.toFixed(2).padStart(8),
        one.p99Ms.toFixed(2).padStart(8),
        String(one.serviceCpuMicros).padStart(18),
      ].join(' '),
    );
  for (const [connections, group] of Map.groupBy(figures, (one) => one.connections)) {
    const [http, bare] = group.map(({ claimsPerSecond }) => claimsPerSecond);
    console.log(
      `\nAt ${connections} connections HTTP reaches ${((http ?? 0) / (bare ?? 1)).toFixed(2)} of the bare driver.`,
    );
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
