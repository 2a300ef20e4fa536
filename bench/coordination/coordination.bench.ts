import { parseArgs } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { makeClaimFixture } from '../claim/fixture.ts';
import { Measurement } from '../measurement.ts';
import { startCoordinationProcess } from '../service-process.ts';
import { openStore } from '../store.ts';
import { openAgents } from './agents.ts';
import { type HeldFigures, measureHeld } from './idle-transaction.ts';
import { createWorkloads, type Workload } from './workloads.ts';

const connections = 16;
const eventsPerTask = 10;

/**
 * The most common calls of coordination over HTTP, one after the other, on one tenant with many tasks. Compare a run on
 * 100,000 tasks and 1,000,000 events with one on ten times as many: the medians should be similar.
 */
export async function benchCoordination(args: string[], stopping: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      tasks: { type: 'string', default: '100000' },
      seconds: { type: 'string', default: '1' },
      'idle-transaction': { type: 'string', default: '0' },
      only: { type: 'string', default: '' },
      postgres: { type: 'string' },
      'cpu-prof': { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [tasks, seconds, idleSeconds] = [values.tasks, values.seconds, values['idle-transaction']].map(
    Number,
  ) as [number, number, number];
  if (!(tasks > 0 && seconds > 0 && idleSeconds >= 0))
    throw new BenchError(
      '--tasks and --seconds must be numbers above 0, --idle-transaction one of at least 0.',
    );
  // Stops what was started, in reverse order, even if one of them fails to start.
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.adopt(await openStore(values.postgres), (opened) => opened.close());
  const fixture = cleanup.adopt(
    await makeClaimFixture(store.url, connections, tasks, eventsPerTask),
    (made) => made.close(),
  );
  await store.settle();
  const started = await startCoordinationProcess(fixture.settings, values['cpu-prof']);
  const service = cleanup.adopt(started, (running) => running.stop());
  const agents = cleanup.adopt(await openAgents(service.port, fixture), (opened) => opened.close());
  const workloads = createWorkloads(agents, fixture);
  if (idleSeconds > 0) {
    const claiming = workloads.filter(({ name }) => ['claim', 'claim-next of 10'].includes(name));
    const held = await measureHeld(store.url, claiming, idleSeconds, (workload, measurement) =>
      runRound(workload, 1000, { stopping, cpuSeconds: service.cpuSeconds, measurement }),
    );
    if (values.json) console.log(JSON.stringify({ store: store.version, tasks, idleSeconds, held }));
    else printHeld(idleSeconds, held);
    return;
  }
  const results = [];
  for (const workload of workloads.filter(({ name }) => name.includes(values.only))) {
    const measurement = await measure(workload, seconds * 1000, service.cpuSeconds, stopping);
    results.push({ name: workload.name, itemsPerCall: workload.itemsPerCall, ...measurement.figures() });
  }
  if (values.json) console.log(JSON.stringify({ store: store.version, tasks, results }));
  else printTable(store.version, tasks, results);
}

/** One uncounted round of half the time warms up code and caches. */
async function measure(
  workload: Workload,
  ms: number,
  cpuSeconds: () => number,
  stopping: AbortSignal,
): Promise<Measurement> {
  await workload.prepare?.(ms);
  const measurement = new Measurement();
  await runRound(workload, ms / 2, { stopping, cpuSeconds });
  await runRound(workload, ms, { stopping, cpuSeconds, measurement });
  return measurement;
}

/** All agents call for `ms`. */
async function runRound(
  { call }: Workload,
  ms: number,
  options: { stopping: AbortSignal; cpuSeconds: () => number; measurement?: Measurement },
): Promise<void> {
  const { stopping, cpuSeconds, measurement } = options;
  const latenciesMs: number[] = [];
  const [startedMs, cpuBefore] = [performance.now(), cpuSeconds()];
  await Promise.all(
    Array.from({ length: connections }, async (_, agent) => {
      for (let beganMs = startedMs; beganMs < startedMs + ms; ) {
        if (stopping.aborted) throw new BenchError('Stopped.');
        if (!(await call(agent))) return;
        const nowMs = performance.now();
        latenciesMs.push(nowMs - beganMs);
        beganMs = nowMs;
      }
    }),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  measurement?.add({ latenciesMs, seconds, serviceCpuSeconds: cpuSeconds() - cpuBefore });
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

function printHeld(seconds: number, figures: readonly HeldFigures[]): void {
  console.log(`A transaction was idle for ${seconds} s meanwhile, ${connections} connections\n`);
  console.log('call                 calls/s before     held  ratio   p50 ms before     held');
  for (const { name, perSecondBefore, perSecondHeld, ratio, p50MsBefore, p50MsHeld } of figures)
    console.log(
      [
        name.padEnd(20),
        String(perSecondBefore).padStart(14),
        String(perSecondHeld).padStart(8),
        ratio.toFixed(2).padStart(6),
        p50MsBefore.toFixed(2).padStart(15),
        p50MsHeld.toFixed(2).padStart(8),
      ].join(' '),
    );
}
