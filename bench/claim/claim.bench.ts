import { parseArgs } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { startCoordinationProcess } from '../service-process.ts';
import { openStore } from '../store.ts';
import { type Contender, overBareDriver, overHttp } from './contenders.ts';
import { makeClaimFixture } from './fixture.ts';
import { Measurement, printTable } from './measurement.ts';

const connectionCounts = [16, 64] as const;

/**
 * Claims per second over HTTP and through the bare driver, in rounds that take turns: the machine's mood of the minute
 * meets both alike. At most 60 s by default.
 */
export async function benchClaim(args: string[]): Promise<void> {
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
  const store = await openStore(values.postgres);
  try {
    const agents = Math.max(...connectionCounts);
    const fixture = await makeClaimFixture(store.url, agents, positive('tasks', values.tasks));
    const service = await startCoordinationProcess(fixture.settings, values['cpu-prof']);
    try {
      const measurements: Measurement[] = [];
      for (const connections of connectionCounts) {
        const contenders = [
          await overHttp(service.port, fixture, connections),
          await overBareDriver(store.url, fixture, connections),
        ];
        measurements.push(...(await takeTurns(contenders, connections, rounds, roundMs, service.cpuSeconds)));
        for (const contender of contenders) await contender.close();
      }
      if (values.json) console.log(JSON.stringify(resultOf(store.version, measurements)));
      else printTable(store.version, measurements);
    } finally {
      await service.stop();
      await fixture.close();
    }
  } finally {
    await store.close();
  }
}

function resultOf(store: string, measurements: readonly Measurement[]): object {
  return { store, measurements: measurements.map((measurement) => measurement.figures()) };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new BenchError(`--${name} must be a number above 0.`);
  return value;
}

async function takeTurns(
  contenders: readonly Contender[],
  connections: number,
  rounds: number,
  roundMs: number,
  serviceCpuSeconds: () => number,
): Promise<Measurement[]> {
  const measurements = contenders.map(({ name }) => new Measurement(name, connections));
  // The first round warms up (compiled code, prepared statements, caches) and is not counted.
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, contender] of contenders.entries()) {
      const cpuBefore = serviceCpuSeconds();
      const latenciesMs: number[] = [];
      const startedMs = performance.now();
      await Promise.all(
        Array.from({ length: connections }, (_, connection) =>
          claimUntil(startedMs + (round === 0 ? roundMs / 2 : roundMs), contender, connection, latenciesMs),
        ),
      );
      const seconds = (performance.now() - startedMs) / 1000;
      if (round > 0) measurements[index]?.add(latenciesMs, seconds, serviceCpuSeconds() - cpuBefore);
    }
  return measurements;
}

async function claimUntil(
  endMs: number,
  contender: Contender,
  connection: number,
  latenciesMs: number[],
): Promise<void> {
  for (let beganMs = performance.now(); beganMs < endMs; ) {
    await contender.claim(connection);
    const nowMs = performance.now();
    latenciesMs.push(nowMs - beganMs);
    beganMs = nowMs;
  }
}
