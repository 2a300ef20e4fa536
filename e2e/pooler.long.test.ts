// Both services behind PgBouncer in transaction mode, set up as in docs/operations.md, while the server behind it
// changes.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { type BatonProcess, baton, repository } from '@baton/testing/baton-process';
import { type PgBouncer, startPgBouncer, withoutPgBouncer } from './testing/debian-pgbouncer.ts';
import {
  type DebianPostgres,
  startDebianPostgres,
  startStandby,
  withoutDebianPostgres,
} from './testing/debian-postgres.ts';

const page = readFileSync(join(repository, 'docs/operations.md'), 'utf8');
const skip = withoutDebianPostgres || withoutPgBouncer;
if (skip !== false) console.warn(`SKIPPED: ${skip}`);

let folder: string;
let server: DebianPostgres;
let pooler: PgBouncer;
let running: BatonProcess;
let authorization: string;
const stops: (() => Promise<unknown>)[] = [];
const databases = ['pooled_iam', 'pooled_cp'] as const;
const waitMs = 60_000;

/** The content of a named block of docs/operations.md. */
function block(name: string): string {
  const found = new RegExp(`^\`\`\`\\w+ ${name}\\n(.*?)^\`\`\``, 'ms').exec(page)?.[1];
  assert.ok(found !== undefined, `docs/operations.md has no block ${name}`);
  return found;
}

describe('behind PgBouncer in transaction mode', { skip }, () => {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baton-pooler-'));
    // Servers that root starts run as another user.
    chmodSync(folder, 0o755);
    server = await startDebianPostgres(join(folder, 'first'));
    const first = server;
    stops.push(() => first.stop());
    await query(server, 'postgres', `create role baton login; ${block('pooled-role')}`);
    for (const name of databases) await query(server, 'postgres', `create database ${name} owner baton`);
    pooler = await startPgBouncer(join(folder, 'pooler'), server, block('pgbouncer'));
    stops.push(() => pooler.stop());
    const [iam, cp] = databases;
    running = baton(['start'], {
      BATON_HOME: join(folder, '.baton'),
      PORT: '0',
      IAM_DATABASE_URL: pooler.url(iam, 'baton'),
      IAM_DATABASE_NAMED_STATEMENTS: 'false',
      CP_DATABASE_URL: pooler.url(cp, 'baton'),
      CP_DATABASE_NAMED_STATEMENTS: 'false',
      CP_DATABASE_LISTEN_URL: server.url(cp),
      // Longer than the timeout of the stream's test, so its events must have been announced, over the connection that
      // bypasses the pooler.
      CP_WS_POLL_INTERVAL_SECONDS: '60',
      IAM_TOKEN_TTL_SECONDS: '900',
    });
    stops.push(async () => {
      running.child.kill('SIGTERM');
      await running.ended;
      keepLog(running.output());
    });
    await running.prints(/Baton is ready at http:\S+/);
    authorization = `Bearer ${await exchange()}`;
  });

  after(async () => {
    for (const stop of stops.reverse()) await stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  });

  test('many clients exchange tokens and claim tasks at once, the journals are read, and a stream is notified', async (t) => {
    const session = (await coordination('POST', '/sessions', { clientName: 'test' })).body['id'];
    const stream = await openStream();
    t.after(() => stream.close());
    const claims = Array.from({ length: 40 }, async () => {
      await exchange();
      const id = await makeTask();
      const claimed = await coordination('POST', `/tasks/${id}:claim`, {
        sessionId: session,
        ttlSeconds: 60,
      });
      assert.equal(claimed.status, 200, JSON.stringify(claimed.body));
      return id;
    });
    const ids = await Promise.all(claims);
    const isClaimed = (events: Event[]) =>
      ids.every((id) => events.some(({ type, entityId }) => type === 'task.claimed' && entityId === id));
    await until(async () => isClaimed(stream.events), 'the stream had every claim');
    assert.ok(isClaimed((await readFrom(undefined)).events));
    const tenant = await makeTenant();
    assert.ok((await identityAfter(0)).aggregates.includes(tenant));
  });

  test('when a lagging standby takes over, a reader of lost events gets an error, and nobody skips an event', async () => {
    const standby = await startStandby(server, join(folder, 'second'));
    stops.push(() => standby.stop());
    await write(2);
    const kept = await places();
    await until(async () => isSame(await counts(standby), await counts(server)), 'the standby has caught up');
    await query(standby, 'postgres', `alter system set primary_conninfo = ''`);
    await query(standby, 'postgres', 'select pg_reload_conf()');
    const receives = async () =>
      (await query(standby, 'postgres', 'select from pg_stat_wal_receiver')).length;
    await until(async () => (await receives()) === 0, 'it receives nothing more');
    await write(10);
    const lost = await places();
    assert.ok(!isSame(await counts(standby), await counts(server)), 'it lags');
    await server.stop();
    await query(standby, 'postgres', 'select pg_promote()');
    pooler.lead(standby);
    server = standby;
    await assertNothingSkipped(kept, lost);
  });

  test('when a copy of the data folder is restored, a reader of lost events gets an error, and nobody skips an event', async () => {
    await write(2);
    const kept = await places();
    const restore = await server.copyData();
    await write(10);
    const lost = await places();
    await restore();
    await assertNothingSkipped(kept, lost);
  });
});

interface Event {
  type: string;
  entityId: string;
}

/** The positions of readers of both journals. */
interface Places {
  cursor: string;
  sequence: number;
}

const connection = () =>
  JSON.parse(readFileSync(join(folder, '.baton', 'connection.json'), 'utf8')) as Record<string, string>;

async function call(method: string, url: string, headers: Record<string, string>, body?: unknown) {
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(waitMs),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, body: isJson ? JSON.parse(text) : {}, headers: response.headers };
}

const coordination = (method: string, path: string, body?: unknown) =>
  call(method, `${connection()['coordinationUrl']}/api/v1${path}`, { authorization }, body);
const identity = (method: string, path: string, body?: unknown) => {
  const { identityUrl, iamBootstrapToken = '' } = connection();
  return call(method, `${identityUrl}/api/v1${path}`, { 'x-iam-bootstrap-token': iamBootstrapToken }, body);
};

async function exchange(): Promise<string> {
  const { adminToken } = connection();
  const { status, body } = await identity('POST', '/platform-access-tokens:exchange', {
    token: adminToken,
    audience: 'control-plane',
  });
  assert.equal(status, 200, JSON.stringify(body));
  return body.accessToken as string;
}

/** The server may be temporarily unavailable. */
async function untilMade(make: () => ReturnType<typeof call>): Promise<string> {
  let id = '';
  await until(async () => {
    const { status, body } = await make();
    if (status === 201) id = body.id as string;
    else assert.ok(status >= 500, `${status} ${JSON.stringify(body)}`);
    return id !== '';
  }, 'something is made');
  return id;
}

let made = 0;
const makeTask = () => untilMade(() => coordination('POST', '/tasks', { title: 'One event' }));
const makeTenant = () =>
  untilMade(() => {
    made += 1;
    return identity('POST', '/tenants', { slug: `pooled-${made}`, name: 'One event' });
  });

/** Creates this many tasks and tenants. @returns their ids */
async function write(count: number): Promise<{ tasks: string[]; tenants: string[] }> {
  const ids = { tasks: [] as string[], tenants: [] as string[] };
  for (let n = 0; n < count; n += 1) {
    ids.tasks.push(await makeTask());
    ids.tenants.push(await makeTenant());
  }
  return ids;
}

async function readFrom(cursor: string | undefined): Promise<{ events: Event[]; cursor: string }> {
  const events: Event[] = [];
  for (let at = cursor; ; ) {
    const { status, body } = await coordination(
      'GET',
      `/events?limit=200${at === undefined ? '' : `&cursor=${at}`}`,
    );
    assert.equal(status, 200, JSON.stringify(body));
    events.push(...body.items);
    at = body.nextCursor as string;
    if (!body.hasMore) return { events, cursor: at };
  }
}

async function identityAfter(after: number): Promise<{ aggregates: string[]; sequence: number }> {
  const aggregates: string[] = [];
  for (let at = after; ; ) {
    const { status, body, headers } = await identity('GET', `/events?limit=500&after=${at}`);
    assert.equal(status, 200, JSON.stringify(body));
    const items = body.items as { aggregate_id: string }[];
    aggregates.push(...items.map((item) => item.aggregate_id));
    at = Number(headers.get('journal-read-to'));
    if (items.length === 0) return { aggregates, sequence: at };
  }
}

/** The readers' positions once they have seen a new task and a new tenant. */
async function places(): Promise<Places> {
  const { tasks, tenants } = await write(1);
  return eventually(undefined, 0, tasks, tenants);
}

/** Waits until a reader sees all of these tasks and tenants: a recent commit may not be visible at once. */
async function eventually(
  cursor: string | undefined,
  after: number,
  tasks: string[],
  tenants: string[],
): Promise<Places> {
  let place: Places = { cursor: '', sequence: 0 };
  await until(async () => {
    const read = await readFrom(cursor);
    const { aggregates, sequence } = await identityAfter(after);
    place = { cursor: read.cursor, sequence };
    const seen = new Set(read.events.map(({ entityId }) => entityId));
    return tasks.every((id) => seen.has(id)) && tenants.every((id) => aggregates.includes(id));
  }, 'every event is read');
  return place;
}

async function assertNothingSkipped(kept: Places, lost: Places): Promise<void> {
  const { tasks, tenants } = await write(20);
  await eventually(kept.cursor, kept.sequence, tasks, tenants);
  const refused = await coordination('GET', `/events?cursor=${lost.cursor}`);
  assert.deepEqual([refused.status, refused.body.error?.code], [410, 'cursor_from_other_history']);
  const rewound = await identity('GET', `/events?after=${lost.sequence}`);
  assert.deepEqual([rewound.status, rewound.body.detail], [410, 'journal_rewound']);
  const { resumeCursor } = refused.body.error.details;
  await eventually(resumeCursor, Number(rewound.headers.get('journal-read-to')), tasks, tenants);
  const ready = await call('GET', `${connection()['coordinationUrl']}/health/ready`, {});
  assert.ok(ready.body.detail.journalEpoch.cursorsRefused > 0);
}

const isSame = (one: readonly number[], other: readonly number[]) => String(one) === String(other);

/** The events of both journals. */
const counts = (of: DebianPostgres) =>
  Promise.all(databases.map(async (name) => (await query(of, name, 'select from events')).length));

async function query(of: DebianPostgres, database: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: of.url(database), connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const result = (await client.query(text)) as { rows?: unknown[] };
    return result.rows ?? [];
  } finally {
    await client.end();
  }
}

async function openStream(): Promise<{ events: Event[]; close(): void }> {
  const url = `${connection()['coordinationUrl']?.replace('http', 'ws')}/api/v1/events/ws`;
  const socket = new WebSocket(url, ['baton', authorization.replace('Bearer ', 'bearer.')]);
  const events: Event[] = [];
  socket.addEventListener('message', ({ data }) => events.push(JSON.parse(String(data)) as Event));
  await new Promise<void>((opened, failed) => {
    socket.addEventListener('open', () => opened());
    socket.addEventListener('error', () => failed(new Error('the stream was not opened')));
  });
  return { events, close: () => socket.close() };
}

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  for (const deadline = performance.now() + waitMs; !(await holds()); await sleep(50))
    assert.ok(performance.now() < deadline, `never: ${what}`);
}
