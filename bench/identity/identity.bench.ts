import { BenchError } from '../bench-error.ts';
import { Measurement } from '../measurement.ts';
import { readRounds } from '../rounds.ts';
import { openStore } from '../store.ts';
import { bareSignatures, type Contender, requestsOf } from './contenders.ts';
import { makeExchangeFixture } from './fixture.ts';
import { type MeasuredGroup, printTable, reportOf } from './measurement.ts';

/** The first group warms up code, statements and caches for the second. */
const groups = [
  { connections: 16, warmUpMs: 4000 },
  { connections: 64, warmUpMs: 500 },
] as const;
/** Of one contender at one number of connections; ten of them, warming up and the start stay within 90 s. */
const measuredSecondsMax = 6;

/**
 * What clients ask of identity most, per second over HTTP, beside bare RSA-3072 signatures and the client-credentials
 * grant of oidc-provider, in rounds that take turns: the machine's mood of the minute meets all alike.
 */
export async function benchIdentity(args: string[], stopping: AbortSignal): Promise<void> {
  const { rounds, roundMs, postgres, profileDirectory, isJson } = readRounds(args, 1, measuredSecondsMax);
  // Ended in the opposite order of their start, also when one of them fails to start.
  await using ends = new AsyncDisposableStack();
  const store = ends.adopt(await openStore(postgres), (opened) => opened.close());
  const agents = Math.max(...groups.map(({ connections }) => connections));
  const fixture = await makeExchangeFixture(store.url, agents, profileDirectory, ends);
  const measured: MeasuredGroup[] = [];
  for (const { connections, warmUpMs } of groups) {
    const contenders = [...requestsOf(fixture, connections), bareSignatures(fixture)];
    const turns = { rounds, roundMs, warmUpMs, stopping };
    measured.push({ connections, measurements: await takeTurns(contenders, turns) });
  }
  const report = reportOf(store.version, measured);
  if (isJson) console.log(JSON.stringify(report));
  else printTable(report);
}

interface Turns {
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmUpMs: number;
  readonly stopping: AbortSignal;
}

async function takeTurns(
  contenders: readonly Contender[],
  { rounds, roundMs, warmUpMs, stopping }: Turns,
): Promise<MeasuredGroup['measurements']> {
  const named = contenders.map(({ name }) => [name, new Measurement()] as const);
  const measurements = Object.fromEntries(named) as MeasuredGroup['measurements'];
  for (const contender of contenders) await runRound(contender, warmUpMs, stopping);
  for (let round = 1; round <= rounds; round += 1)
    for (const contender of contenders)
      measurements[contender.name].add(await runRound(contender, roundMs, stopping));
  return measurements;
}

/** All lanes for `ms`. */
async function runRound({ service, open }: Contender, ms: number, stopping: AbortSignal) {
  const latenciesMs: number[] = [];
  const round = await open();
  const cpuBefore = service?.cpuSeconds() ?? 0;
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: round.lanes }, async (_, lane) => {
      for (let beganMs = startedMs; beganMs < startedMs + ms; ) {
        if (stopping.aborted) throw new BenchError('Stopped.');
        await round.act(lane);
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
