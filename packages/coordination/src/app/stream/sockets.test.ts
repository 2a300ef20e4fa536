// Many sockets of several tenants in one process. The long proof opens a few hundred; `npm run sockets` opens 10,000
// and prints the cost of each.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import {
  type Actor,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { type Crowd, type CrowdMember, startCrowd } from '../../testing/crowd/crowd.ts';
import { addSequence, type Counted } from '../../testing/crowd/frame-counter.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { type ServiceProcess, startProcess } from '../../testing/programs/service-processes.ts';
import { until } from '../../testing/wait-until.ts';
import { foundTenant } from '../bootstrap/found-tenant.ts';

const sockets = Number(process.env.BATON_TEST_SOCKETS ?? byDepth(80, 400));
const isLarge = sockets >= 5000;
/** More than the number of queued reads of bindings, so that they can't all be read at once. */
const identities = isLarge ? 2500 : 40;
const crowdProcesses = 2;
const tenants = 4;
const eventsPerTenant = isLarge ? 60 : 40;
const idleMs = isLarge ? 15_000 : 1000;
const waitMsMax = isLarge ? 300_000 : 60_000;

interface Tenant {
  readonly tenantId: string;
  readonly writer: Actor;
  readonly readers: readonly Actor[];
  /** The position from which the tenant's sockets begin. */
  readonly after: string;
}

let baton: TestCoordination;
let service: ServiceProcess;
let crowd: Crowd;
let all: Tenant[];

before(async () => {
  baton = await startCoordination();
  service = await startProcess('serve', baton.env);
  all = [];
  for (let n = 0; n < tenants; n += 1) all.push(await makeTenant(n));
  crowd = startCrowd(crowdProcesses);
});
after(async () => {
  await crowd.close();
  await service.stop('SIGKILL');
  await baton.close();
});

async function makeTenant(n: number): Promise<Tenant> {
  const name = `tenant-${n}`;
  const made = { tenantSlug: name, tenantName: name, adminDisplayName: name };
  const { tenantId } = await foundTenant(baton.pool, made);
  const readers: Actor[] = [];
  for (let made = 0; made < identities / tenants; made += 1)
    readers.push(await baton.actor({ tenantId, permissions: ['events.read'] }));
  const writer = await baton.actor({ tenantId });
  await writeEvents(baton.pool, tenantId, [{}]);
  await journalIsStable(baton.pool);
  const { nextCursor } = (await (readers[0] as Actor).get('/events?tail=1')).body;
  return { tenantId, writer, readers, after: nextCursor };
}

/** Every tenth socket subscribes to tasks only. */
function membersOf(process: number): CrowdMember[] {
  const each = sockets / crowdProcesses / tenants;
  return all.flatMap(({ readers, after }) => {
    const mine = readers.filter((_, at) => at % crowdProcesses === process);
    return mine.map(({ token }, at) => ({
      path: `/api/v1/events/ws?after=${after}${at % 10 === 0 ? '&types=task.' : ''}`,
      token,
      sockets: Math.floor(each / mine.length) + (at < each % mine.length ? 1 : 0),
    }));
  });
}

/** The events that a tenant's socket must have received, according to the pages of the journal. */
async function expectedOf({ readers: [reader], after }: Tenant, types: string): Promise<Counted> {
  const counted = { count: 0, digest: 0 };
  for (let [cursor, hasMore] = [after, true]; hasMore; ) {
    const { body } = await (reader as Actor).get(`/events?limit=200&cursor=${cursor}${types}`);
    for (const { sequence } of body.items) addSequence(counted, sequence);
    [cursor, hasMore] = [body.nextCursor, body.hasMore];
  }
  return counted;
}

/** Waits until each socket has each event once, in order. */
async function allHaveAll(): Promise<void> {
  await journalIsStable(baton.pool);
  const expected: Counted[][] = [];
  const counts = await Promise.all(
    all.map(async (tenant) => ({
      every: await expectedOf(tenant, ''),
      tasks: await expectedOf(tenant, '&types=task.'),
    })),
  );
  for (let process = 0; process < crowdProcesses; process += 1)
    expected.push(
      membersOf(process).flatMap(({ path, sockets }) => {
        const of = counts[all.findIndex(({ after }) => path.includes(after))];
        return Array<Counted>(sockets).fill((path.includes('types') ? of?.tasks : of?.every) as Counted);
      }),
    );
  const deadline = performance.now() + waitMsMax;
  for (let got = await crowd.count(); ; got = await crowd.count()) {
    const missing = got.flat().filter(({ count }, at) => count < (expected.flat()[at]?.count ?? 0)).length;
    if (missing === 0) return assert.deepEqual(got, expected, 'each event once, in order');
    if (performance.now() > deadline) assert.fail(`${missing} of ${sockets} sockets miss events`);
    await sleep(200);
  }
}

async function write(): Promise<void> {
  await Promise.all(
    all.map(async ({ tenantId, writer }) => {
      for (let n = 0; n < eventsPerTenant; n += 1) {
        const sent = { token: writer.token, body: { title: `event ${n}` } };
        assert.equal((await sendRequest(`${service.url}/api/v1/tasks`, 'POST', sent)).status, 201);
      }
      const many = Array.from({ length: eventsPerTenant }, (_, n) =>
        n % 3 === 0 ? { type: 'task.updated', entity_type: 'task' } : {},
      );
      await writeEvents(baton.pool, tenantId, many);
      await baton.pool.run(sql`select pg_notify('baton_journal', ${`test ${tenantId}`})`);
    }),
  );
}

/** Resident memory in bytes, and seconds of processor time. */
function costs() {
  const status = readFileSync(`/proc/${service.pid}/status`, 'utf8');
  const fields = readFileSync(`/proc/${service.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return {
    bytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024,
    seconds: (Number(fields[11]) + Number(fields[12])) / 100,
  };
}

const lines: string[] = [];
const report = (text: string) => lines.push(text);

test(`${sockets} sockets of ${tenants} tenants are open in one process`, async () => {
  const [before, began] = [costs(), performance.now()];
  await crowd.open(Number(new URL(service.url).port), [0, 1].map(membersOf));
  const opened = performance.now() - began;
  const afterwards = costs();
  report(`opened in ${(opened / 1000).toFixed(1)} s`);
  report(`memory: ${((afterwards.bytes - before.bytes) / 1024 / sockets).toFixed(1)} KiB per socket`);
  report(
    `processor time to open: ${(((afterwards.seconds - before.seconds) * 1e6) / sockets).toFixed(0)} us per socket`,
  );
  assert.equal((await crowd.look()).open, sockets);
});

test('all sockets get each event once, in order', async () => {
  const [before, began] = [costs(), performance.now()];
  await write();
  await allHaveAll();
  const ms = performance.now() - began;
  const delivered = (await crowd.count()).flat().reduce((sum, { count }) => sum + count, 0);
  const spent = costs().seconds - before.seconds;
  report(`${delivered} events delivered in ${(ms / 1000).toFixed(1)} s, writing and checking included`);
  report(`processor time to deliver: ${((spent * 1e6) / delivered).toFixed(1)} us per event and socket`);
});

test('no socket ends while it is idle, nor when the connection for notifications is lost and all rights are read again', async () => {
  const before = costs();
  await sleep(idleMs);
  const spent = costs().seconds - before.seconds;
  report(
    `idle, pings and rights: ${((spent * 1e6) / sockets / (idleMs / 1000)).toFixed(0)} us of processor time per socket and second`,
  );
  await baton.pool.rows(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'baton-coordination (listening)'`);
  await sleep(isLarge ? 8000 : 500);
  await write();
  await allHaveAll();
  assert.deepEqual(await crowd.look(), { open: sockets, ends: {} });
  report(`memory afterwards: ${(costs().bytes / 1024 / 1024).toFixed(0)} MiB in all`);
});

test('a shutdown of the process ends each socket with 1001', async () => {
  const began = performance.now();
  await service.stop();
  await until(async () => (await crowd.look()).open === 0, 'the end of all');
  assert.deepEqual(await crowd.look(), { open: 0, ends: { '1001 going_away': sockets } });
  report(`stopped in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  const file = process.env.BATON_TEST_SOCKETS_REPORT;
  if (file !== undefined) writeFileSync(file, `${sockets} sockets\n  ${lines.join('\n  ')}\n`);
});
