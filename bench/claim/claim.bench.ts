import { parseArgs } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { Measurement } from '../measurement.ts';
import { startCoordinationProcess } from '../service-process.ts';
import { openStore } from '../store.ts';
import { type Contender, overBareDriver, overHttp } from './contenders.ts';
import { makeClaimFixture } from './fixture.ts';
import { figuresOf, type MeasuredContender, printTable } from './measurement.ts';

const connectionCounts = [16, 64] as const;

/**
 * Claims per second over HTTP and through the bare driver, in rounds that take turns: the machine's mood of the minute
 * meets both alike. At most 60 s by default.
 */
export async function benchClaim(args: string[], stopping: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '6' },
      seconds: { type: 'string', default: '1' },
      tasks: { type: 'string', default: '170000' },
      postgres: { type: 'string' },
      'cpu-prof': { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const rounds = positive('rounds', values.rounds);
  const roundMs = positive('seconds', values.seconds) * 1000;
  const agents = Math.max(...connectionCounts);
  const tasks = positive('tasks', values.tasks);
  // Ended in the opposite order of their start, also when one of them fails to start.
  await using ends = new AsyncDisposableStack();
  const store = ends.adopt(await openStore(values.postgres), (opened) => opened.close());
  const fixture = ends.adopt(await makeClaimFixture(store.url, agents, tasks), (made) => made.close());
  const started = await startCoordinationProcess(fixture.settings, values['cpu-prof']);
  const service = ends.adopt(started, (running) => running.stop());
  const measurements: MeasuredContender[] = [];
  for (const connections of connectionCounts) {
    const contenders = [
      await overHttp(service.port, fixture, connections),
      await overBareDriver(store.url, fixture, connections),
    ];
    measurements.push(
      ...(await takeTurns(contenders, { connections, rounds, roundMs, stopping }, service.cpuSeconds)),
    );
    for (const contender of contenders) await contender.close();
  }
  if (values.json) console.log(JSON.stringify(resultOf(store.version, measurements)));
  else printTable(store.version, measurements);
}

function resultOf(store: string, measurements: readonly MeasuredContender[]): object {
  return { store, measurements: measurements.map(figuresOf) };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new BenchError(`--${name} must be a number above 0.`);
  return value;
}

interface Turns {
  readonly connections: number;
  readonly rounds: number;
  readonly roundMs: number;
  readonly stopping: AbortSignal;
}

async function takeTurns(
  contenders: readonly Contender[],
  turns: Turns,
  serviceCpuSeconds: () => number,
): Promise<MeasuredContender[]> {
  const measurements = contenders.map(({ name }) => ({
    name,
    connections: turns.connections,
    measurement: new Measurement(),
  }));
  for (const contender of contenders) await runRound(contender, turns, turns.roundMs / 2);
  for (let round = 1; round <= turns.rounds; round += 1)
    for (const [index, contender] of contenders.entries()) {
      const cpuBefore = serviceCpuSeconds();
      const { latenciesMs, seconds } = await runRound(contender, turns, turns.roundMs);
      measurements[index]?.measurement.add({
        latenciesMs,
        seconds,
        serviceCpuSeconds: serviceCpuSeconds() - cpuBefore,
      });
    }
  return measurements;
}

/** Claims on all connections for `ms`; the first round of a contender only warms up code, statements and caches. */
async function runRound(contender: Contender, { connections, stopping }: Turns, ms: number) {
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async (_, connection) => {
      for (let beganMs = startedMs; beganMs < startedMs + ms; ) {
        if (stopping.aborted) throw new BenchError('Stopped.');
        await contender.claim(connection);
        const nowMs = performance.now();
        latenciesMs.push(nowMs - beganMs);
        beganMs = nowMs;
      }
    }),
  );
  return { latenciesMs, seconds: (performance.now() - startedMs) / 1000 };
}
