import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Consumer, consumePages, consumeStream, type Ending } from './consumers.ts';
import { Deliveries } from './deliveries.ts';
import { type ActName, acts, wreakHavoc } from './havoc.ts';
import {
  countPutAway,
  findHeldBack,
  findStoredEvents,
  ignoreHorizon,
  type StoredEvent,
} from './journal-table.sql.ts';
import { type LaggingMemory, startLaggingMemory } from './lagging-memory.ts';
import { checkConsumer, checkJournal, type Writing } from './oracle.ts';
import { readBySequence, readWithoutHorizon } from './planted.ts';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';
import { openWorld, type Tenant, type World, whenPossible } from './world.ts';
import { archiveAgainAndAgain, type Writer, writeCommands, writeSlowly } from './writers.ts';

export interface ChaosOptions {
  /** How long writers and havoc run; the last events are read afterwards. */
  readonly seconds: number;
  readonly tenants: number;
  /** The average time between two acts. */
  readonly actEveryMs: number;
  readonly kinds?: readonly ActName[];
  /** If no consumer has received an event for this time, missing events count as lost. */
  readonly quietMs?: number;
  /** Switches for the checker's own tests. */
  readonly plants?: boolean;
  readonly horizonIsIgnored?: boolean;
}

export interface ChaosReport {
  /** Faults of the service, one per line; empty if every promise was kept. */
  readonly problems: readonly string[];
  /** Detected faults of the planted consumers, by their name. */
  readonly planted: ReadonlyMap<string, readonly string[]>;
  /** The number of pruned events. */
  readonly pruned: number;
  /** The report for people. */
  readonly figures: readonly string[];
}

export const everyAct = Object.keys(acts) as ActName[];

/** Three times the delay of deliveries after a worker is killed, to allow for a busy machine. */
const quietMsUsual = 20_000;

/**
 * Writes, consumes and breaks things at the same time, then compares each consumer's events with the journal's table,
 * and the table with the responses of the writers.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const receivers = { receiver: await startWebhookReceiver(), memory: await startLaggingMemory() };
  const world = await openWorld(options.tenants, options.seconds + 600, receivers);
  try {
    if (options.horizonIsIgnored) await world.pool.run(ignoreHorizon);
    return await runIn(world, receivers, options);
  } finally {
    await world.close();
    await receivers.receiver.close();
    await receivers.memory.close();
  }
}

interface Receivers {
  readonly receiver: WebhookReceiver;
  readonly memory: LaggingMemory;
}

async function runIn(world: World, receivers: Receivers, options: ChaosOptions): Promise<ChaosReport> {
  const { receiver, memory } = receivers;
  const untilMs = performance.now() + options.seconds * 1000;
  const ending: Ending = { isWritten: false, isOver: false };
  const faults = new Map<string, number>();
  const writing: Writing = {
    committed: new Set(),
    rolledBack: new Set(),
    unknown: [],
    answered: [],
    unanswered: [],
  };
  const publishes = options.plants ? plantPublisher(world.tenants[0] as Tenant) : undefined;
  const writers = [...world.tenants, world.pruned].flatMap((tenant) => startWriters(tenant));
  // Events are sent to the webhook receiver and the memory service, so there is nothing to start.
  const told = ({ id }: Tenant): Started[] =>
    [...receiver.deliveriesOf(id), memory.deliveriesOf(id)].map((deliveries) => ({
      deliveries,
      consuming: Promise.resolve(),
    }));
  const honest = [
    ...world.tenants.flatMap((tenant) => [...startConsumers(world, tenant, ending), ...told(tenant)]),
    ...told(world.pruned),
  ];
  const faulty = options.plants ? startPlanted(world, world.tenants[0] as Tenant, ending) : [];

  const done = await wreakHavoc(world, {
    untilMs,
    everyMs: options.actEveryMs,
    kinds: options.kinds ?? everyAct,
  });
  await Promise.all(writers);
  while ((await whenPossible(() => world.pool.row(findHeldBack())))?.is_held) await sleep(20);
  const stored = await world.pool.rows(findStoredEvents());
  ending.isWritten = true;
  memory.catchUp();
  await drain(world, honest, stored, options.quietMs ?? quietMsUsual);
  ending.isOver = true;
  await Promise.all([...honest, ...faulty].map(({ consuming }) => consuming));
  const again = await readAgain(world);
  const after = await world.pool.rows(findStoredEvents());
  const putAway = (await world.pool.row(countPutAway)) ?? { archived: 0, pruned: 0 };

  const consumers = [...honest.map(({ deliveries }) => deliveries), ...again];
  const problems = [
    ...[...faults].map(([what, count]) => `${what}, ${count} times`),
    ...[...world.apis, world.worker, world.adapter].flatMap(({ unasked }) => unasked),
    ...checkJournal(after, writing),
    // The worker may have written more since, so events that are newer than those in `stored` are accepted, but an
    // older event that isn't in `stored` is not.
    ...consumers.flatMap((one) => checkConsumer(one, eventsFor(one, stored, after))),
  ];
  if (problems.length > 0) problems.push(...lastLines(world));
  const judged = [
    ...faulty.map(({ deliveries }) => deliveries),
    ...(publishes ? [publishes.deliveries] : []),
  ];
  return {
    problems,
    planted: new Map(judged.map((one) => [one.name, checkConsumer(one, eventsFor(one, stored, after))])),
    pruned: putAway.pruned,
    figures: figuresOf({
      stored: after,
      putAway,
      writing,
      done,
      consumers: honest.map(({ deliveries }) => deliveries),
    }),
  };

  function startWriters(tenant: Tenant): Promise<void>[] {
    const writer: Writer = {
      urls: world.urls,
      token: tenant.token,
      tenantId: tenant.id,
      writing,
      isWriting: () => performance.now() < untilMs,
      fault: (what) => faults.set(what, (faults.get(what) ?? 0) + 1),
    };
    const slow = (openMs: number, takesBack: number) =>
      writeSlowly(world.writersPool, writer, { openMs, takesBack, ...publishes });
    return [
      ...Array.from({ length: 3 }, () => writeCommands(writer)),
      archiveAgainAndAgain(writer, tenant === world.pruned),
      slow(50, 0.3),
      slow(500, 0.3),
      slow(4000, 0.1),
    ];
  }
}

interface Started {
  readonly deliveries: Deliveries;
  readonly consuming: Promise<void>;
}

/** Each kind of consumer, at least twice, with and without a filter. */
function startConsumers(world: World, tenant: Tenant, ending: Ending): Started[] {
  const common = { urls: world.urls, token: tenant.token, ending, crashes: 0.05 };
  const ofTasks = {
    filter: 'types=task.created,task.comment_added',
    wants: ({ type }: { type: string }) => type === 'task.created' || type === 'task.comment_added',
  };
  const start = (
    name: string,
    consume: (consumer: Consumer) => Promise<void>,
    only?: typeof ofTasks,
  ): Started => {
    const deliveries = new Deliveries(name, tenant.id, only && { wants: only.wants });
    return {
      deliveries,
      consuming: consume({ ...common, ...(only && { filter: only.filter }), deliveries }),
    };
  };
  const pages = (limit: number) => (consumer: Consumer) => consumePages({ ...consumer, limit });
  return [
    start('pages of 200', pages(200)),
    start('pages of 7', pages(7)),
    start('pages of some types', pages(50), ofTasks),
    start('socket', consumeStream),
    start('another socket', consumeStream),
    start('socket of some types', consumeStream, ofTasks),
  ];
}

function startPlanted(world: World, tenant: Tenant, ending: Ending): Started[] {
  const make = (name: string) => new Deliveries(name, tenant.id);
  const common = { urls: world.urls, token: tenant.token, ending, crashes: 0.2, limit: 20 };
  const [first, backward] = [make('notes its cursor first'), make('reads pages backward')];
  const [horizon, sequence] = [make('ignores the horizon'), make('reads by sequence')];
  return [
    { deliveries: first, consuming: consumePages({ ...common, deliveries: first, notesCursorFirst: true }) },
    { deliveries: backward, consuming: consumePages({ ...common, deliveries: backward, isBackward: true }) },
    { deliveries: horizon, consuming: readWithoutHorizon({ world, deliveries: horizon, ending }) },
    { deliveries: sequence, consuming: readBySequence({ world, deliveries: sequence, ending }) },
  ];
}

/** A consumer that gets events before they are committed. */
function plantPublisher(tenant: Tenant) {
  const deliveries = new Deliveries('is notified before the commit', tenant.id, { isOrdered: false });
  return { deliveries, publishes: (ids: readonly string[]) => ids.forEach((id) => deliveries.take(id)) };
}

/**
 * Waits until all consumers have received their events, or until no consumer has received one for a while although
 * every process responds: the missing events are then lost.
 */
async function drain(
  world: World,
  consumers: readonly Started[],
  stored: readonly StoredEvent[],
  quietMs: number,
): Promise<void> {
  const waiting = consumers.map(({ deliveries }) => ({
    deliveries,
    ids: stored
      .filter((event) => event.tenant_id === deliveries.tenantId && deliveries.wants(event))
      .map(({ id }) => id)
      .reverse(),
  }));
  const isDone = () => waiting.every(({ deliveries, ids }) => ids.every((id) => deliveries.has(id)));
  const countNow = () => waiting.reduce((sum, { deliveries }) => sum + deliveries.count, 0);
  await Promise.all(world.apis.map((api) => api.isReady()));
  let [count, changedAt] = [countNow(), performance.now()];
  while (!isDone() && performance.now() - changedAt < quietMs) {
    await sleep(50);
    if (countNow() > count) [count, changedAt] = [countNow(), performance.now()];
  }
  // A consumer that has all its events may still receive surplus ones.
  await sleep(300);
}

/** Reads the whole journal once more from its beginning, through the API. */
async function readAgain({ tenants, urls }: World): Promise<Deliveries[]> {
  return Promise.all(
    tenants.map(async ({ id, token }) => {
      const deliveries = new Deliveries('pages from the beginning', id);
      const ending = { isWritten: true, isOver: false };
      await consumePages({ urls, token, deliveries, ending, crashes: 0, limit: 200 });
      return deliveries;
    }),
  );
}

/** The expected events of a consumer: those stored when it ended, and any later ones that it received. */
function eventsFor(
  deliveries: Deliveries,
  stored: readonly StoredEvent[],
  after: readonly StoredEvent[],
): readonly StoredEvent[] {
  const before = new Set(stored.map(({ id }) => id));
  return after.filter(({ id }) => before.has(id) || deliveries.has(id));
}

/** The last output of the processes. */
function lastLines({ folder }: World): string[] {
  return ['api-1.log', 'api-2.log', 'worker.log', 'context-adapter.log'].flatMap((name) => {
    try {
      const lines = readFileSync(join(folder, name), 'utf8').trim().split('\n');
      return lines
        .filter((line) => line.includes('"level":"error"') || !line.startsWith('{'))
        .slice(-3)
        .map((line) => `${name}: ${line.slice(0, 500)}`);
    } catch {
      return [];
    }
  });
}

function figuresOf({
  stored,
  putAway: { archived, pruned },
  writing,
  done,
  consumers,
}: {
  stored: readonly StoredEvent[];
  putAway: { archived: number; pruned: number };
  writing: Writing;
  done: ReadonlyMap<ActName, number>;
  consumers: readonly Deliveries[];
}): string[] {
  const tenants = [...new Set(stored.map(({ tenant_id: id }) => id))];
  const perTenant = tenants.map((id) => stored.filter((event) => event.tenant_id === id).length);
  return [
    `${stored.length} events (${perTenant.join(', ')} by tenant), ${archived} of them archived and ${pruned} pruned meanwhile, ${writing.answered.length} commands answered, ` +
      `${writing.rolledBack.size} events rolled back, ${writing.unknown.length} commits without an answer`,
    [...done].map(([name, count]) => `${count} ${name}`).join(', '),
    '| Consumer | Tenant | Events | Repeats before dedup | Interruptions | Longest gap ms |',
    '|---|---|---|---|---|---|',
    ...consumers.map((one) =>
      [
        '',
        one.name,
        tenants.indexOf(one.tenantId) + 1,
        one.count,
        one.duplicates,
        one.interruptions,
        one.longestGapMs.toFixed(0),
        '',
      ]
        .join(' | ')
        .trim(),
    ),
  ];
}
