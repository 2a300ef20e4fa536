import { parseArgs } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { callFor } from '../calls.ts';
import { Measurement } from '../measurement.ts';
import { startCoordinationProcess } from '../service-process.ts';
import { openStore } from '../store.ts';
import { makeClaimFixture } from './fixture.ts';
import { computeFigures, type MeasuredVariant, printTable } from './measurement.ts';
import { overBareDriver, overHttp, type Variant } from './variants.ts';

const connectionCounts = [16, 64] as const;

/**
 * Claims per second over HTTP and through the bare driver. Their rounds alternate, so that changing load on the machine
 * affects both equally. Takes at most 60 s by default.
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
  // Stops what was started, in reverse order, even if one of them fails to start.
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.adopt(await openStore(values.postgres), (opened) => opened.close());
  const fixture = cleanup.adopt(await makeClaimFixture(store.url, agents, tasks), (made) => made.close());
  await store.settle();
  const started = await startCoordinationProcess(fixture.settings, values['cpu-prof']);
  const service = cleanup.adopt(started, (running) => running.stop());
  const measurements: MeasuredVariant[] = [];
  for (const connections of connectionCounts) {
    const variants = [
      await overHttp(service.port, fixture, connections),
      await overBareDriver(store.url, fixture, connections),
    ];
    measurements.push(
      ...(await runInterleaved(variants, { connections, rounds, roundMs, stopping }, service.cpuSeconds)),
    );
    for (const variant of variants) await variant.close();
  }
  if (values.json) console.log(JSON.stringify(resultOf(store.version, measurements)));
  else printTable(store.version, measurements);
}

function resultOf(store: string, measurements: readonly MeasuredVariant[]): object {
  return { store, measurements: measurements.map(computeFigures) };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new BenchError(`--${name} must be a number above 0.`);
  return value;
}

interface RoundOptions {
  readonly connections: number;
  readonly rounds: number;
  readonly roundMs: number;
  readonly stopping: AbortSignal;
}

async function runInterleaved(
  variants: readonly Variant[],
  options: RoundOptions,
  serviceCpuSeconds: () => number,
): Promise<MeasuredVariant[]> {
  const measurements = variants.map(({ name }) => ({
    name,
    connections: options.connections,
    measurement: new Measurement(),
  }));
  const { connections, roundMs, stopping } = options;
  const claimFor = (ms: number, variant: Variant) =>
    callFor(ms, connections, stopping, (connection) => variant.claim(connection));
  // The first round of a variant is not counted: it warms up code and caches.
  for (const variant of variants) await claimFor(roundMs / 2, variant);
  for (let round = 1; round <= options.rounds; round += 1)
    for (const [index, variant] of variants.entries()) {
      const cpuBefore = serviceCpuSeconds();
      const { latenciesMs, seconds } = await claimFor(roundMs, variant);
      measurements[index]?.measurement.add({
        latenciesMs,
        seconds,
        serviceCpuSeconds: serviceCpuSeconds() - cpuBefore,
      });
    }
  return measurements;
}
