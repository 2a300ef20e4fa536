import { parseArgs } from 'node:util';
import { BenchError } from '../bench-error.ts';
import type { Measurement } from '../measurement.ts';
import { type ServiceProcess, startCoordinationProcess } from '../service-process.ts';
import { openStore } from '../store.ts';
import { type Delay, measureDelay } from './delay.ts';
import { type FanOut, measureFanOut } from './fan-out.ts';
import { connections, type JournalFixture, makeJournalFixture } from './fixture.ts';
import { type JetStream, openJetStream } from './jetstream.ts';
import { type Compared, compare, type RoundOptions } from './rounds.ts';
import { draft, openSockets, readers, writers } from './ways.ts';

const socketCounts = [10, 100, 1000, 10_000];
const delayMs = 8000;
const fanOutRounds = 3;
const oneByOneMin = 1000;
const parts = ['write', 'pages', 'delay', 'fan-out'] as const;

/**
 * The journal: writes, reads by pages, and streams, each compared with the bare limit of the same machine in the same
 * run.
 */
export async function benchJournal(args: string[], stopping: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      events: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '1' },
      only: { type: 'string', default: '' },
      sockets: { type: 'string', default: socketCounts.join(',') },
      postgres: { type: 'string' },
      'cpu-prof': { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [events, rounds, seconds] = [values.events, values.rounds, values.seconds].map(Number) as [
    number,
    number,
    number,
  ];
  if (!(events >= 1000 && rounds > 0 && seconds > 0))
    throw new BenchError('--events must be at least 1000, --rounds and --seconds above 0.');
  if (values.only !== '' && !parts.some((part) => part === values.only))
    throw new BenchError(`--only is one of: ${parts.join(', ')}.`);
  // Stops what was started, in reverse order, even if one of them fails to start.
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.adopt(await openStore(values.postgres), (opened) => opened.close());
  const fixture = cleanup.adopt(await makeJournalFixture(store.url, events), (made) => made.close());
  await store.settle();
  const start = (profile?: string) => startCoordinationProcess(fixture.settings, profile);
  const service = cleanup.adopt(await start(values['cpu-prof']), (running) => running.stop());
  const other = cleanup.adopt(await start(), (running) => running.stop());
  const wants = (part: (typeof parts)[number]) => values.only === '' || values.only === part;
  const options = { rounds, roundMs: seconds * 1000, stopping, cpuSeconds: service.cpuSeconds };
  const opened = await openJetStream(JSON.stringify(draft()));
  const jetStream =
    typeof opened === 'string' ? undefined : cleanup.adopt(opened, (stream) => stream.close());
  if (typeof opened === 'string') console.error(opened);
  const bench = { fixture, service, other, jetStream, options };
  const compared = [
    ...(wants('pages') ? await comparePages(bench, events) : []),
    ...(wants('write') ? await compareWriting(bench) : []),
  ];
  const delays = wants('delay') ? await measureDelays(bench) : [];
  const fanOuts: FanOut[] = [];
  const counts = wants('fan-out') ? values.sockets.split(',').map(Number) : [];
  for (const isOneByOne of [false, true])
    for (const sockets of counts) {
      // With few sockets it would be the delay of one event, which has its own table.
      if (isOneByOne && sockets < oneByOneMin) continue;
      const asked = { ...options, sockets, isOneByOne, rounds: fanOutRounds, port: service.port };
      fanOuts.push(await measureFanOut(fixture, fixture.small, asked));
    }
  if (values.json) console.log(JSON.stringify(figuresOf(store.version, compared, delays, fanOuts)));
  else printTables(store.version, compared, delays, fanOuts);
}

interface Bench {
  readonly fixture: JournalFixture;
  readonly service: ServiceProcess;
  readonly other: ServiceProcess;
  readonly jetStream: JetStream | undefined;
  readonly options: RoundOptions;
}

async function compareWriting({ fixture, service, jetStream, options }: Bench): Promise<Compared[]> {
  const sockets = await openSockets(service.port);
  try {
    const ways = writers(sockets, service.port, fixture, fixture.small);
    return await compare([...ways, ...(jetStream === undefined ? [] : [jetStream.way])], options);
  } finally {
    for (const socket of sockets) socket.close();
  }
}

async function comparePages({ fixture, service, options }: Bench, events: number): Promise<Compared[]> {
  const sockets = await openSockets(service.port);
  try {
    const { small, large } = fixture;
    return await compare(
      [
        ...readers(sockets, service.port, fixture, small, '10000'),
        ...readers(sockets, service.port, fixture, large, String(events)),
      ],
      options,
    );
  } finally {
    for (const socket of sockets) socket.close();
  }
}

/** At half of the API's maximum write rate, measured just before. */
async function measureDelays(bench: Bench): Promise<(Delay & { perSecond: number })[]> {
  const { fixture, service, other, jetStream } = bench;
  const [api] = await compareWriting({ ...bench, options: { ...bench.options, rounds: 2 } });
  const perSecond = Math.floor((api as Compared).measurement.figures().perSecond / 2);
  const services = [
    { name: 'socket in the same process', port: service.port },
    { name: 'socket in another process', port: other.port },
  ];
  const delays = await measureDelay(services, fixture, fixture.small, { perSecond, ms: delayMs });
  if (jetStream !== undefined) delays.push(await jetStream.delay(perSecond, delayMs));
  return delays.map((delay) => ({ ...delay, perSecond }));
}

type Delays = readonly (Delay & { perSecond: number })[];

function figuresOf(store: string, compared: readonly Compared[], delays: Delays, fanOuts: readonly FanOut[]) {
  return {
    store,
    ways: compared.map(({ way, measurement }) => ({ name: way.name, ...measurement.figures() })),
    delays: delays.map(({ name, perSecond, measurement }) => ({
      name,
      load: perSecond,
      ...measurement.figures(),
    })),
    fanOuts: fanOuts.map(({ sockets, events, service, bare }) => ({
      sockets,
      events,
      service: service.figures(),
      bare: bare.figures(),
      ratio: service.ratioTo(bare),
    })),
  };
}

function printTables(
  store: string,
  compared: readonly Compared[],
  delays: Delays,
  fanOuts: readonly FanOut[],
): void {
  console.log(`${store}, ${connections} connections\n`);
  console.log(
    '| What | calls/s | events/s | p50 ms | p99 ms | service us | to the bare one |\n|---|---|---|---|---|---|---|',
  );
  for (const [at, { way, measurement }] of compared.entries()) {
    const { perSecond, p50Ms, p99Ms, serviceCpuMicros } = measurement.figures();
    const isOurs = !/bare|JetStream/.test(way.name);
    const bare = isOurs ? (compared[at + 1]?.measurement as Measurement) : undefined;
    const ratio = bare === undefined ? '' : measurement.ratioTo(bare);
    const own = isOurs ? serviceCpuMicros : '';
    console.log(
      `| ${[way.name, perSecond, perSecond * way.eventsPerCall, p50Ms, p99Ms, own, ratio].join(' | ')} |`,
    );
  }
  if (delays.length > 0)
    console.log('\n| From the answer to the socket | changes/s | p50 ms | p99 ms |\n|---|---|---|---|');
  for (const { name, perSecond, measurement } of delays) {
    const { p50Ms, p99Ms } = measurement.figures();
    console.log(`| ${[name, perSecond, p50Ms, p99Ms].join(' | ')} |`);
  }
  if (fanOuts.length > 0)
    console.log(
      '\n| Sockets | events at once | messages/s | bare `ws` | ratio | service us per message |\n|---|---|---|---|---|---|',
    );
  for (const { sockets, events, service, bare } of fanOuts) {
    const { perSecond, serviceCpuMicros } = service.figures();
    console.log(
      `| ${[sockets, events, perSecond, bare.figures().perSecond, service.ratioTo(bare), serviceCpuMicros].join(' | ')} |`,
    );
  }
}
