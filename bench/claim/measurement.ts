import type { Measurement } from '../measurement.ts';

/** The measurement of one variant at one number of connections. */
export interface MeasuredVariant {
  readonly name: string;
  readonly connections: number;
  readonly measurement: Measurement;
}

export function computeFigures({ name, connections, measurement }: MeasuredVariant) {
  const { count: claims, perSecond: claimsPerSecond, ...rest } = measurement.figures();
  return { name, connections, claims, claimsPerSecond, ...rest };
}

/** Prints all measurements and, for each number of connections, the ratio of the first variant to the second. */
export function printTable(store: string, measurements: readonly MeasuredVariant[]): void {
  const figures = measurements.map(computeFigures);
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
