import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Pool } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { BenchError } from '../bench-error.ts';
import { callFor } from '../calls.ts';
import { Measurement } from '../measurement.ts';
import { startCoordinationProcess, startWorkerProcess } from '../service-process.ts';
import { openStore } from '../store.ts';
import { openDbos } from './dbos.ts';
import { copyWaitingInstances, makeProcessFixture, type ProcessFixture, post, publish } from './fixture.ts';

const parallel = 16;
const steps = 10;
const timerSeconds = 60;
const idleSeconds = 20;

/**
 * Steps per second of a process of ten steps compared with a workflow of DBOS; the lateness of timers; the cost of
 * waiting instances. Takes about three minutes.
 */
export async function benchProcesses(args: string[], stopping: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      timers: { type: 'string', default: '10000' },
      waiting: { type: 'string', default: '100000' },
      only: { type: 'string' },
      postgres: { type: 'string' },
      'cpu-prof': { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [rounds, seconds, timers, waiting] = [
    values.rounds,
    values.seconds,
    values.timers,
    values.waiting,
  ].map(Number);
  if (!(Number(rounds) > 0 && Number(seconds) > 0))
    throw new BenchError('--rounds and --seconds must be above 0.');
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.adopt(await openStore(values.postgres), (opened) => opened.close());
  const fixture = cleanup.adopt(await makeProcessFixture(store.url), (made) => made.close());
  const started = await startCoordinationProcess(fixture.settings, values['cpu-prof']);
  const service = cleanup.adopt(started, (running) => running.stop());
  const { only } = values;
  const results: Record<string, object> = {};
  if (only === undefined || only === 'steps')
    results['steps'] = await measureSteps(store.url, fixture, service, {
      rounds: Number(rounds),
      roundMs: Number(seconds) * 1000,
      stopping,
    });
  if (only === undefined || only === 'timers')
    results['timers'] = await measureTimers(fixture, service.port, Number(timers));
  if (only === undefined || only === 'waiting')
    results['waiting'] = await measureWaiting(fixture, service.port, Number(waiting));
  if (values.json) console.log(JSON.stringify({ store: store.version, ...results }));
  else {
    console.log(`${store.version}\n`);
    for (const [name, result] of Object.entries(results)) console.log(name, result);
  }
}

interface Rounds {
  readonly rounds: number;
  readonly roundMs: number;
  readonly stopping: AbortSignal;
}

/** Rounds of both alternate, so that changing load on the machine affects both equally. */
async function measureSteps(
  databaseUrl: string,
  fixture: ProcessFixture,
  service: { port: number; cpuSeconds(): number },
  { rounds, roundMs, stopping }: Rounds,
): Promise<object> {
  const counting = Array.from({ length: steps }, (_, n) => ({ id: `s${n}`, set: { n: 'data.n + 1' } }));
  const key = await publish(service.port, fixture, counting);
  const dbos = await openDbos(databaseUrl, steps, parallel);
  let made = 0;
  const startOne = async () => {
    made += 1;
    const body = { process: key, key: `k${made}`, data: { n: 0 } };
    const { status } = await post(service.port, fixture.token, '/process-instances', body);
    if (status !== 'completed') throw new BenchError(`An instance is ${status}.`);
  };
  const ways = [
    { name: 'Baton', run: startOne },
    ...(dbos === undefined ? [] : [{ name: 'DBOS', run: dbos.run }]),
  ];
  const measured = ways.map((way) => ({ ...way, measurement: new Measurement() }));
  for (let round = 0; round <= rounds; round += 1)
    for (const { run, measurement } of measured) {
      const before = service.cpuSeconds();
      const { latenciesMs, seconds } = await callFor(roundMs, parallel, stopping, run);
      // The first round is not counted: it warms up code, statements and caches.
      if (round > 0)
        measurement.add({ latenciesMs, seconds, serviceCpuSeconds: service.cpuSeconds() - before });
    }
  await dbos?.close();
  const [baton, other] = measured;
  const figures = Object.fromEntries(
    measured.map(({ name, measurement }) => {
      const { perSecond, p50Ms, p99Ms } = measurement.figures();
      return [name, { stepsPerSecond: perSecond * steps, instancesPerSecond: perSecond, p50Ms, p99Ms }];
    }),
  );
  if (baton === undefined || other === undefined)
    return { ...figures, note: 'DBOS is left out: npm ci --prefix bench/dbos installs it' };
  return { ...figures, ratio: baton.measurement.ratioTo(other.measurement) };
}

async function makeWaiting(fixture: ProcessFixture, port: number): Promise<string> {
  const key = await publish(port, fixture, [
    { id: 'pause', wait: 'P30D' },
    { id: 'after', set: { n: '1' } },
  ]);
  const { id } = await post(port, fixture.token, '/process-instances', {
    process: key,
    key: 'first',
    data: {},
  });
  return id;
}

/** The lateness of timers that are due evenly within a minute, with one worker. */
async function measureTimers(fixture: ProcessFixture, port: number, timers: number): Promise<object> {
  const { pool } = fixture;
  await copyWaitingInstances(pool, await makeWaiting(fixture, port), timers, {
    fromSeconds: 15,
    withinSeconds: timerSeconds,
  });
  const worker = await startWorkerProcess(fixture.settings);
  const done = async () =>
    (
      await pool.row<{ n: number }>(sql`
      select count(*)::integer as n from process_instances where status = 'completed' and journal_seq > 3 and state ->> 'clock' > ''
        and definition_key = (select definition_key from process_instances where instance_key = 'first' order by started_at desc limit 1)`)
    )?.n ?? 0;
  for (let waits = 0; (await done()) < timers; waits += 1) {
    if (waits > timerSeconds * 3) throw new BenchError(`Only ${await done()} of ${timers} timers fired.`);
    await sleep(1000);
  }
  await worker.stop();
  const [late] = await pool.rows<{ max: number; p99: number; p50: number }>(sql`
    with late as (
      select extract(epoch from occurred_at - (payload ->> 'dueAt')::timestamptz)::float8 as seconds from events
      where type = 'process.timer_fired'
    )
    select max(seconds) as max, percentile_cont(0.99) within group (order by seconds) as p99,
      percentile_cont(0.5) within group (order by seconds) as p50 from late`);
  return { timers, withinSeconds: timerSeconds, lateSeconds: late };
}

/** The work of a worker and the database with waiting instances, compared with the same time without any. */
async function measureWaiting(fixture: ProcessFixture, port: number, waiting: number): Promise<object> {
  const { pool, settings } = fixture;
  const id = await makeWaiting(fixture, port);
  const none = await idle(pool, settings);
  await copyWaitingInstances(pool, id, waiting, { fromSeconds: 86_400, withinSeconds: 86_400 });
  return { waiting, seconds: idleSeconds, none, many: await idle(pool, settings) };
}

async function idle(pool: Pool, settings: Readonly<Record<string, string>>): Promise<object> {
  const worker = await startWorkerProcess(settings);
  await sleep(3000);
  const [cpu, before] = [worker.cpuSeconds(), await rowsRead(pool)];
  await sleep(idleSeconds * 1000);
  const [cpuAfter, after] = [worker.cpuSeconds(), await rowsRead(pool)];
  await worker.stop();
  return { rowsRead: after - before, workerCpuSeconds: Math.round((cpuAfter - cpu) * 100) / 100 };
}

/** The number of rows of the tables of processes that statements have read. */
async function rowsRead(pool: Pool): Promise<number> {
  // A server process publishes its counters within a second.
  await sleep(1500);
  const row = await pool.row<{ n: string }>(sql`
    select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::text as n from pg_stat_user_tables
    where relname like 'process\\_%'`);
  return Number(row?.n);
}
