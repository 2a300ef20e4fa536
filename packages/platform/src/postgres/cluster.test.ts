import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import pg from 'pg';
import { StartError } from '../start-error.ts';
import { folderInMemory, privateFolder } from '../testing/private-folder.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { ensureDatabase, serverVersion } from './databases.sql.ts';
import { superviseCluster } from './supervisor.ts';

/** The folder of a stopped cluster. A copy takes a tenth of the time of a new cluster. */
let made: ReturnType<typeof privateFolder>;
let home: ReturnType<typeof privateFolder>;
let directory: string;
let stops: (() => Promise<void>)[];

before(async () => {
  made = privateFolder(folderInMemory());
  const options = { directory: join(made.path, 'postgres'), durable: false, say: () => undefined };
  const cluster = await startCluster(options);
  await cluster.stop();
  await cluster.ended;
});
after(() => made.remove());

beforeEach(() => {
  home = privateFolder(folderInMemory());
  directory = join(home.path, 'postgres');
  stops = [];
});

afterEach(async () => {
  for (const stopCluster of stops) await stopCluster();
  await home.remove();
});

/**
 * Copies existing data for the next start. If root runs the tests, `cp -a` preserves the owner, the server's account.
 */
function copyData(): void {
  execFileSync('cp', ['-a', join(made.path, 'postgres'), directory]);
}

function startOnCopy(durable?: boolean): Promise<Cluster> {
  copyData();
  return start(durable);
}

async function start(durable = true): Promise<Cluster> {
  const cluster = await startCluster({ directory, durable, say: () => undefined });
  stops.push(() => cluster.stop());
  return cluster;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end().catch(() => undefined);
  }
}

const logOf = (cluster: Cluster) => readFileSync(cluster.logFile, 'utf8');

test('the first start creates the data, the second one keeps it and needs no recovery', async () => {
  const first = await start();
  await ensureDatabase(first.url('postgres'), 'identity');
  await ensureDatabase(first.url('postgres'), 'identity');
  await query(first.url('identity', 'identity'), 'create table kept as select 42 as answer');
  await first.stop();
  await first.ended;
  const second = await start();
  assert.deepEqual(await query(second.url('identity', 'identity'), 'select answer from kept'), [
    { answer: 42 },
  ]);
  assert.match(logOf(second), /database system was shut down at/);
  assert.doesNotMatch(logOf(second), /not properly shut down/);
});

test('only the owner can enter the folder of the socket, and the server listens on no network', async () => {
  const cluster = await startOnCopy();
  const socket = new URL(cluster.url('postgres')).searchParams.get('host') as string;
  assert.equal(statSync(socket).mode & 0o077, 0);
  const rows = await query(
    cluster.url('postgres'),
    "select current_setting('listen_addresses') as addresses",
  );
  assert.deepEqual(rows, [{ addresses: '' }]);
});

test('commits are durable before they are acknowledged, unless the cluster is disposable', async () => {
  const safety = "select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit";
  const cluster = await startOnCopy();
  assert.deepEqual(await query(cluster.url('postgres'), safety), [{ fsync: 'on', commit: 'on' }]);
  await cluster.stop();
  directory = join(home.path, 'fast');
  const fast = await startOnCopy(false);
  assert.deepEqual(await query(fast.url('postgres'), safety), [{ fsync: 'off', commit: 'off' }]);
});

test('a server that outlived its killed parent is adopted', async () => {
  copyData();
  const main = join(import.meta.dirname, '../testing/cluster.main.ts');
  const parent = spawn(process.execPath, [main, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  const adopted = await start();
  assert.deepEqual([adopted.adopted, adopted.pid], [true, Number(pid.toString())]);
  assert.equal(await serverVersion(adopted.url('postgres')), 18);
});

test('after kill -9 of PostgreSQL no acknowledged row is lost', async () => {
  const cluster = await startOnCopy();
  const url = cluster.url('postgres');
  await query(url, 'create table acknowledged (id integer primary key)');
  const acknowledged: number[] = [];
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    for (let id = writer; ; id += 4) {
      await client.query('insert into acknowledged values ($1)', [id]);
      acknowledged.push(id);
    }
  });
  const ended = Promise.allSettled(writers);
  while (acknowledged.length < 400) await new Promise((resolve) => setTimeout(resolve, 5));
  process.kill(cluster.pid, 'SIGKILL');
  await ended;
  const again = await start();
  assert.match(logOf(again), /not properly shut down; automatic recovery in progress/);
  const rows = await query(again.url('postgres'), 'select id from acknowledged');
  const found = new Set(rows.map(({ id }) => id));
  assert.deepEqual(
    acknowledged.filter((id) => !found.has(id)),
    [],
  );
});

test('a server that dies is restarted at the same address', async () => {
  copyData();
  const options = { directory, durable: true, say: () => undefined };
  const supervised = await superviseCluster(options, (reason) => assert.fail(reason));
  stops.push(() => supervised.stop());
  const before = supervised.current();
  process.kill(before.pid, 'SIGKILL');
  await before.ended;
  const deadline = performance.now() + 60_000;
  while (supervised.current().pid === before.pid && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.notEqual(supervised.current().pid, before.pid);
  assert.equal(supervised.current().url('postgres'), before.url('postgres'));
  assert.equal(await serverVersion(before.url('postgres')), 18);
});

test('another process with the pid of a dead server is not adopted', async () => {
  const cluster = await startOnCopy();
  process.kill(cluster.pid, 'SIGKILL');
  await cluster.ended;
  // Both files that PostgreSQL left behind now contain the pid of this test's process.
  for (const path of [join(directory, 'data/postmaster.pid'), join(directory, 'run/.s.PGSQL.5432.lock')])
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^\d+/, String(process.pid)));
  const again = await start();
  assert.equal(again.adopted, false);
});

test('an initdb that outlived its killed Baton does not disturb the next start', async () => {
  // The orphaned initdb continues to write to its folder, whatever the next start does there.
  const folder = join(directory, 'data.new');
  const script = `const { mkdirSync, writeFileSync } = require('node:fs');
    setInterval(() => {
      mkdirSync(process.argv[1], { recursive: true });
      for (let n = 0; n < 100; n += 1) writeFileSync(process.argv[1] + '/file' + n, '');
    }, 0)`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const orphan = spawn(process.execPath, ['-e', script, folder], { stdio: 'ignore' });
  const ended = once(orphan, 'exit');
  try {
    while (readdirSync(folder).length < 100) await new Promise((resolve) => setTimeout(resolve, 5));
    const cluster = await start();
    assert.equal(await serverVersion(cluster.url('postgres')), 18);
  } finally {
    // Not in an `after` hook, which would run after the folder has been removed: the orphan would recreate the folder.
    orphan.kill('SIGKILL');
    await ended;
  }
});

test('data that a crash left incomplete is removed', async () => {
  for (const name of ['data.new', 'data.new-1234abcd']) {
    mkdirSync(join(directory, name), { recursive: true, mode: 0o700 });
    writeFileSync(join(directory, name, 'PG_VERSION'), '18\n');
  }
  await start();
  assert.ok(!readdirSync(directory).some((name) => name.startsWith('data.new')));
});

test('when its path is too long for a socket, the socket is under the temporary folder', async () => {
  const long = join(home.path, 'a'.repeat(120));
  mkdirSync(long, { mode: 0o700 });
  directory = join(long, 'postgres');
  const cluster = await startOnCopy();
  const socket = new URL(cluster.url('postgres')).searchParams.get('host') as string;
  assert.ok(socket.length < 90, socket);
  assert.equal(await serverVersion(cluster.url('postgres')), 18);
  await cluster.stop();
  assert.equal(existsSync(socket), false, 'it must be removed by the stop');
});

test('data of another PostgreSQL version is refused with one sentence', async () => {
  const cluster = await startOnCopy();
  await cluster.stop();
  const path = join(directory, 'data', 'PG_VERSION');
  renameSync(path, `${path}.kept`);
  writeFileSync(path, '15\n', { mode: 0o644 });
  await assert.rejects(
    start(),
    (error: Error) => error instanceof StartError && /created by PostgreSQL 15/.test(error.message),
  );
});
