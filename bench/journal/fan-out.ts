import { insertEvents } from '@baton/coordination/ledger/journal/journal.sql';
import { startBroadcast } from '@baton/coordination/testing/crowd/broadcast';
import { type Crowd, startCrowd } from '@baton/coordination/testing/crowd/crowd';
import { sql } from '@baton/kernel/database/sql';
import { BenchError } from '../bench-error.ts';
import { Measurement } from '../measurement.ts';
import type { JournalFixture, JournalTenant } from './fixture.ts';
import { draft } from './ways.ts';

/** Messages per second to all sockets, and the duration of one round. */
export interface FanOut {
  readonly sockets: number;
  readonly events: number;
  readonly service: Measurement;
  readonly bare: Measurement;
}

export interface FanOutOptions {
  readonly sockets: number;
  /**
   * Whether each event is written only after all sockets have received the previous one; otherwise a whole round is
   * written at once.
   */
  readonly isOneByOne: boolean;
  readonly rounds: number;
  readonly port: number;
  readonly stopping: AbortSignal;
  cpuSeconds(): number;
}

/** Events per round: enough to last a while at 10 sockets, and less than minutes at 10,000. */
const messagesPerRound = 200_000;
const eventsMax = 4000;
const eventsPerInsert = 200;
const singlesPerRound = 10;
const crowdProcesses = 2;

/** The same events to the same number of sockets: by the service from its store, and by a bare broadcast of `ws`. */
export async function measureFanOut(
  fixture: JournalFixture,
  tenant: JournalTenant,
  options: FanOutOptions,
): Promise<FanOut> {
  const { sockets, rounds, port } = options;
  const events = options.isOneByOne ? 1 : Math.min(eventsMax, Math.ceil(messagesPerRound / sockets));
  const sendings = options.isOneByOne ? singlesPerRound : 1;
  await using cleanup = new AsyncDisposableStack();
  const [ours, theirs] = [0, 1].map(() =>
    cleanup.adopt(startCrowd(crowdProcesses), (crowd) => crowd.close()),
  ) as [Crowd, Crowd];
  const broadcast = cleanup.adopt(await startBroadcast(), (started) => started.stop());
  const after = await fixture.endCursor(tenant.tenantId);
  const members = (path: string) =>
    Array.from({ length: crowdProcesses }, () => [
      { path, token: tenant.token, sockets: sockets / crowdProcesses },
    ]);
  await ours.open(port, members(`/api/v1/events/ws?after=${after}`));
  await theirs.open(broadcast.port, members('/'));
  const [service, bare] = [new Measurement(), new Measurement()];
  let reached = 0;
  // The first round of each warms up and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    let [serviceMs, bareMs] = [0, 0];
    const cpuBefore = options.cpuSeconds();
    for (let sending = 0; sending < sendings; sending += 1) {
      if (options.stopping.aborted) throw new BenchError('Stopped.');
      const texts = await writeEvents(fixture, tenant, port, events);
      reached += events;
      const tell = () =>
        fixture.pool.run(sql`select pg_notify('baton_journal', ${`bench ${tenant.tenantId}`})`);
      serviceMs += await timeOf(ours, reached, tell);
      bareMs += await timeOf(theirs, reached, async () => broadcast.send(texts));
    }
    const serviceCpuSeconds = options.cpuSeconds() - cpuBefore;
    if (round === 0) continue;
    const latenciesMs = Array<number>(events * sendings * sockets).fill(0);
    service.add({ latenciesMs, seconds: serviceMs / 1000, serviceCpuSeconds });
    bare.add({ latenciesMs, seconds: bareMs / 1000, serviceCpuSeconds: 0 });
  }
  return { sockets, events, service, bare };
}

async function timeOf(crowd: Crowd, count: number, send: () => Promise<unknown>): Promise<number> {
  const reached = crowd.expect(count);
  const beganMs = performance.timeOrigin + performance.now();
  await send();
  return (await reached) - beganMs;
}

/** Writes events without a notification of the service. @returns them in the service's form */
async function writeEvents(
  { pool, endCursor }: JournalFixture,
  { tenantId, token }: JournalTenant,
  port: number,
  count: number,
): Promise<string[]> {
  let cursor = await endCursor(tenantId);
  for (let left = count; left > 0; left -= eventsPerInsert)
    await pool.run(
      insertEvents(tenantId, Array.from({ length: Math.min(left, eventsPerInsert) }, draft), true),
    );
  const texts: string[] = [];
  while (texts.length < count) {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/events?limit=200&cursor=${cursor}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const page = (await response.json()) as { items: object[]; nextCursor: string };
    texts.push(...page.items.map((item) => JSON.stringify(item)));
    cursor = page.nextCursor;
  }
  return texts;
}
