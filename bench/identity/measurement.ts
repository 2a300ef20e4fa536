import type { Measurement } from '../measurement.ts';

export type WorkloadName =
  | 'exchange'
  | 'ES256 exchange'
  | 'service account'
  | 'introspection'
  | 'oidc-provider'
  | 'bare driver'
  | 'signature';

export interface MeasuredGroup {
  readonly connections: number;
  /** In the order of the table. */
  readonly measurements: Readonly<Record<WorkloadName, Measurement>>;
}

/** All figures, and the ratios of exchanges to signatures and to oidc-provider at each number of connections. */
export function writeReport(store: string, groups: readonly MeasuredGroup[]) {
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
      const elliptic = measurements['ES256 exchange'];
      const { p50Ms, p99Ms } = exchange.figures();
      return {
        connections,
        toSignatures: exchange.ratioTo(signature),
        toOidcProvider: exchange.ratioTo(oidcProvider),
        ellipticToBareDriver: elliptic.ratioTo(measurements['bare driver']),
        ellipticToRsa: elliptic.ratioTo(exchange),
        p99ToP50: Math.round((p99Ms / p50Ms) * 10) / 10,
      };
    }),
  };
}

export function printTable({ store, measurements, ratios }: ReturnType<typeof writeReport>): void {
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
  for (const ratio of ratios) {
    const { connections, toSignatures, toOidcProvider, p99ToP50, ellipticToBareDriver, ellipticToRsa } =
      ratio;
    console.log(
      `\nAt ${connections} connections exchanges reach ${toSignatures.toFixed(2)} of the bare signatures of this machine and ${toOidcProvider.toFixed(2)} times the rate of oidc-provider; their p99 is ${p99ToP50.toFixed(1)} times their p50. ES256 exchanges reach ${ellipticToBareDriver.toFixed(2)} of the bare driver and ${ellipticToRsa.toFixed(1)} times the RS256 ones.`,
    );
  }
}
