import { BenchError } from '../bench-error.ts';
import { Measurement } from '../measurement.ts';
import { readRounds } from '../rounds.ts';
import { openStore } from '../store.ts';
import { makeExchangeFixture } from './fixture.ts';
import { type MeasuredGroup, printTable, writeReport } from './measurement.ts';
import { bareDriver, bareSignatures, createRequests, type Workload } from './workloads.ts';

/** The first group warms up code, statements and caches for the second. */
const groups = [
  { connections: 16, warmUpMs: 4000 },
  { connections: 64, warmUpMs: 500 },
] as const;
/** For one workload at one number of connections. Fourteen of these with start and warm-up take two minutes. */
const measuredSecondsMax = 6;

/**
 * Requests per second of identity's most frequent calls over HTTP, compared with bare RSA-3072 signatures and the
 * client-credentials grant of oidc-provider. Rounds alternate, so that changing load on the machine affects all
 * equally.
 */
export async function benchIdentity(args: string[], stopping: AbortSignal): Promise<void> {
  const { rounds, roundMs, postgres, profileDirectory, isJson } = readRounds(args, 1, measuredSecondsMax);
  // Stops what was started, in reverse order, even if one of them fails to start.
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.adopt(await openStore(postgres), (opened) => opened.close());
  const agents = Math.max(...groups.map(({ connections }) => connections));
  const fixture = await makeExchangeFixture(store.url, agents, profileDirectory, cleanup);
  const measured: MeasuredGroup[] = [];
  for (const { connections, warmUpMs } of groups) {
    const workloads = [
      ...createRequests(fixture, connections),
      bareDriver(fixture, connections, cleanup),
      bareSignatures(fixture),
    ];
    const options = { rounds, roundMs, warmUpMs, stopping };
    measured.push({ connections, measurements: await runInterleaved(workloads, options) });
  }
  const report = writeReport(store.version, measured);
  if (isJson) console.log(JSON.stringify(report));
  else printTable(report);
}

interface RoundOptions {
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmUpMs: number;
  readonly stopping: AbortSignal;
}

async function runInterleaved(
  workloads: readonly Workload[],
  { rounds, roundMs, warmUpMs, stopping }: RoundOptions,
): Promise<MeasuredGroup['measurements']> {
  const named = workloads.map(({ name }) => [name, new Measurement()] as const);
  const measurements = Object.fromEntries(named) as MeasuredGroup['measurements'];
  for (const workload of workloads) await runRound(workload, warmUpMs, stopping);
  for (let round = 1; round <= rounds; round += 1)
    for (const workload of workloads)
      measurements[workload.name].add(await runRound(workload, roundMs, stopping));
  return measurements;
}

/** Runs the workload with all its concurrent workers for `ms`. */
async function runRound({ service, open }: Workload, ms: number, stopping: AbortSignal) {
  const latenciesMs: number[] = [];
  const round = await open();
  const cpuBefore = service?.cpuSeconds() ?? 0;
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: round.concurrency }, async (_, worker) => {
      for (let beganMs = startedMs; beganMs < startedMs + ms; ) {
        if (stopping.aborted) throw new BenchError('Stopped.');
        await round.run(worker);
        const nowMs = performance.now();
        latenciesMs.push(nowMs - beganMs);
        beganMs = nowMs;
      }
    }),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  round.close();
  return { latenciesMs, seconds, serviceCpuSeconds: (service?.cpuSeconds() ?? 0) - cpuBefore };
}
