import { parseArgs } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { openStore } from '../store.ts';
import { bareSignatures, type Contender, exchanges } from './contenders.ts';
import { makeExchangeFixture } from './fixture.ts';
import { type Line, Measurement, printTable, ratiosOf } from './measurement.ts';

const connectionCounts = [16, 64] as const;
/** Of one contender at one number of connections; four of them and the start stay within a minute. */
const measuredSecondsMax = 10;

/**
 * Exchanges per second over HTTP beside bare RSA-3072 signatures per second, in rounds that take turns: the machine's
 * mood of the minute meets both alike.
 */
export async function benchIdentity(args: string[], stopping: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '6' },
      seconds: { type: 'string', default: '1' },
      postgres: { type: 'string' },
      'cpu-prof': { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  if (!(rounds > 0 && seconds > 0 && rounds * seconds <= measuredSecondsMax))
    throw new BenchError(
      `--rounds and --seconds must be above 0, their product at most ${measuredSecondsMax}.`,
    );
  // Ended in the opposite order of their start, also when one of them fails to start.
  await using ends = new AsyncDisposableStack();
  const store = ends.adopt(await openStore(values.postgres), (opened) => opened.close());
  const agents = Math.max(...connectionCounts);
  const fixture = await makeExchangeFixture(store.url, agents, values['cpu-prof']);
  ends.defer(() => fixture.service.stop());
  const lines: Line[] = [];
  for (const connections of connectionCounts) {
    const contenders = [await exchanges(fixture, connections), bareSignatures(fixture)];
    const turns = { rounds, roundMs: seconds * 1000, stopping };
    const measurements = await takeTurns(contenders, turns, fixture.service.cpuSeconds);
    for (const [index, { name }] of contenders.entries())
      lines.push({ name, connections, ...(measurements[index] as Measurement).figures() });
    for (const contender of contenders) contender.close();
  }
  if (values.json)
    console.log(JSON.stringify({ store: store.version, measurements: lines, ratios: ratiosOf(lines) }));
  else printTable(store.version, lines);
}

interface Turns {
  readonly rounds: number;
  readonly roundMs: number;
  readonly stopping: AbortSignal;
}

async function takeTurns(
  contenders: readonly Contender[],
  { rounds, roundMs, stopping }: Turns,
  serviceCpuSeconds: () => number,
): Promise<Measurement[]> {
  const measurements = contenders.map(() => new Measurement());
  for (const contender of contenders) await runRound(contender, roundMs / 2, stopping);
  for (let round = 1; round <= rounds; round += 1)
    for (const [index, contender] of contenders.entries()) {
      const cpuBefore = serviceCpuSeconds();
      const { latenciesMs, seconds } = await runRound(contender, roundMs, stopping);
      measurements[index]?.add(latenciesMs, seconds, serviceCpuSeconds() - cpuBefore);
    }
  return measurements;
}

/** All lanes for `ms`; the first round of a contender only warms up code, statements and caches. */
async function runRound(contender: Contender, ms: number, stopping: AbortSignal) {
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: contender.lanes }, async (_, lane) => {
      for (let beganMs = startedMs; beganMs < startedMs + ms; ) {
        if (stopping.aborted) throw new BenchError('Stopped.');
        await contender.act(lane);
        const nowMs = performance.now();
        latenciesMs.push(nowMs - beganMs);
        beganMs = nowMs;
      }
    }),
  );
  return { latenciesMs, seconds: (performance.now() - startedMs) / 1000 };
}
