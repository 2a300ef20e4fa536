/** What one contender reached beside the others of its group. */
export class Measurement {
  readonly #latenciesMs: number[] = [];
  readonly #ratesPerSecond: number[] = [];
  #seconds = 0;
  #serviceCpuSeconds = 0;

  add(latenciesMs: readonly number[], seconds: number, serviceCpuSeconds: number): void {
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
}

export interface Line extends ReturnType<Measurement['figures']> {
  readonly name: string;
  readonly connections: number;
}

/** Prints all lines, and how much of the bare signatures the exchanges of the same group reach. */
export function printTable(store: string, lines: readonly Line[]): void {
  console.log(`${store}\n`);
  console.log(
    'connections  what          per s   slowest..fastest round   p50 ms   p99 ms   service µs each',
  );
  for (const one of lines)
    console.log(
      [
        String(one.connections).padStart(11),
        `  ${one.name.padEnd(10)}`,
        String(one.perSecond).padStart(8),
        `${one.slowestRound}..${one.fastestRound}`.padStart(24),
        one.p50Ms.toFixed(2).padStart(8),
        one.p99Ms.toFixed(2).padStart(8),
        String(one.serviceCpuMicros).padStart(17),
      ].join(' '),
    );
  for (const { connections, ratio } of ratiosOf(lines))
    console.log(
      `\nAt ${connections} connections exchanges reach ${ratio.toFixed(2)} of the bare signatures of this machine.`,
    );
}

export function ratiosOf(lines: readonly Line[]): { connections: number; ratio: number }[] {
  return [...Map.groupBy(lines, ({ connections }) => connections)].map(([connections, group]) => {
    const [exchange, signature] = group.map(({ perSecond }) => perSecond);
    return { connections, ratio: (exchange ?? 0) / (signature ?? 1) };
  });
}
