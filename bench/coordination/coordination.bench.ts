import { parseArgs } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { makeClaimFixture } from '../claim/fixture.ts';
import { Measurement } from '../measurement.ts';
import { startCoordinationProcess } from '../service-process.ts';
import { openStore } from '../store.ts';
import { openAgents } from './agents.ts';
import { type Workload, workloadsOf } from './workloads.ts';

const connections = 16;

/**
 * The commonest calls of coordination over HTTP, one after the other, on one tenant with many tasks. Compare a run on
 * 100,000 tasks with one on 1,000,000: the medians should stay alike.
 */
export async function benchCoordination(args: string[], stopping: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      tasks: { type: 'string', default: '100000' },
      seconds: { type: 'string', default: '1' },
      postgres: { type: 'string' },
      'cpu-prof': { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [tasks, seconds] = [Number(values.tasks), Number(values.seconds)];
  if (!(tasks > 0 && seconds > 0)) throw new BenchError('--tasks and --seconds must be numbers above 0.');
  // Stops what was started, in reverse order, also when one of them fails to start.
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.adopt(await openStore(values.postgres), (opened) => opened.close());
  const fixture = cleanup.adopt(await makeClaimFixture(store.url, connections, tasks), (made) =>
    made.close(),
  );
  await store.settle();
  const started = await startCoordinationProcess(fixture.settings, values['cpu-prof']);
  const service = cleanup.adopt(started, (running) => running.stop());
  const agents = cleanup.adopt(await openAgents(service.port, fixture), (opened) => opened.close());
  const results = [];
  for (const workload of workloadsOf(agents, fixture)) {
    const measurement = await measure(workload, seconds * 1000, service.cpuSeconds, stopping);
    results.push({ name: workload.name, itemsPerCall: workload.itemsPerCall, ...measurement.figures() });
  }
  if (values.json) console.log(JSON.stringify({ store: store.version, tasks, results }));
  else printTable(store.version, tasks, results);
}

/** One uncounted round of half the time warms up code and caches. */
async function measure(
  { call, prepare }: Workload,
  ms: number,
  cpuSeconds: () => number,
  stopping: AbortSignal,
): Promise<Measurement> {
  await prepare?.(ms);
  const measurement = new Measurement();
  for (const [roundMs, counts] of [
    [ms / 2, false],
    [ms, true],
  ] as const) {
    const latenciesMs: number[] = [];
    const [startedMs, cpuBefore] = [performance.now(), cpuSeconds()];
    await Promise.all(
      Array.from({ length: connections }, async (_, agent) => {
        for (let beganMs = startedMs; beganMs < startedMs + roundMs; ) {
          if (stopping.aborted) throw new BenchError('Stopped.');
          if (!(await call(agent))) return;
          const nowMs = performance.now();
          latenciesMs.push(nowMs - beganMs);
          beganMs = nowMs;
        }
      }),
    );
    const seconds = (performance.now() - startedMs) / 1000;
    if (counts) measurement.add({ latenciesMs, seconds, serviceCpuSeconds: cpuSeconds() - cpuBefore });
  }
  return measurement;
}

type Result = { name: string; itemsPerCall: number } & ReturnType<Measurement['figures']>;

function printTable(store: string, tasks: number, results: readonly Result[]): void {
  console.log(`${store}, ${tasks} tasks, ${connections} connections\n`);
  console.log('call                    calls/s    tasks/s   p50 ms   p99 ms   service µs/call');
  for (const { name, itemsPerCall, perSecond, p50Ms, p99Ms, serviceCpuMicros } of results)
    console.log(
      [
        name.padEnd(20),
        String(perSecond).padStart(10),
        String(perSecond * itemsPerCall).padStart(10),
        p50Ms.toFixed(2).padStart(8),
        p99Ms.toFixed(2).padStart(8),
        String(serviceCpuMicros).padStart(17),
      ].join(' '),
    );
}
