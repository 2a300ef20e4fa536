import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const programs = '/usr/lib/postgresql/15/bin';
const readyWaitMs = 60_000;

/** Why tests with PostgreSQL 15 can't run here; false when they can. */
export const withoutDebianPostgres = existsSync(join(programs, 'pg_dump'))
  ? false
  : `PostgreSQL 15 is not in ${programs}: apt-get install postgresql`;

export interface DebianPostgres {
  /** The address of a database as superuser. */
  url(database: string): string;
  stop(): Promise<void>;
}

/** Starts a PostgreSQL 15 of Debian's in a folder that does not exist yet, on a free port of loopback. */
export async function startDebianPostgres(folder: string): Promise<DebianPostgres> {
  const account = process.getuid?.() === 0 ? accountOf('postgres') : undefined;
  mkdirSync(folder, { mode: 0o700 });
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
  const data = join(folder, 'data');
  const options = { ...account, cwd: folder, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } };
  const init = ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-sync'];
  const made = spawnSync(join(programs, 'initdb'), init, { ...options, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(made.stderr);
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    max_prepared_transactions: 4,
    fsync: 'off',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(join(programs, 'postgres'), ['-D', data, ...args], { ...options, stdio: 'ignore' });
  const postgres = {
    url: (database: string) => `postgresql://postgres@127.0.0.1:${port}/${database}`,
    stop: () => stop(server),
  };
  await untilReady(server, port).catch(async (error: unknown) => {
    await postgres.stop();
    throw error;
  });
  return postgres;
}

function accountOf(name: string): { uid: number; gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`${name}:`));
  const [, , uid, gid] = (line ?? '').split(':');
  return { uid: Number(uid), gid: Number(gid) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function untilReady(server: ChildProcess, port: number): Promise<void> {
  const deadline = performance.now() + readyWaitMs;
  const ask = ['-h', '127.0.0.1', '-p', String(port), '-t', '5'];
  while (spawnSync(join(programs, 'pg_isready'), ask).status !== 0) {
    if (server.exitCode !== null || performance.now() > deadline)
      throw new Error('PostgreSQL 15 did not start');
    await sleep(50);
  }
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGQUIT');
  await ended;
}
