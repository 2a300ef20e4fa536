import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@baton/kernel/testing/process/free-port';

const programs = '/usr/lib/postgresql/15/bin';
const readyWaitMs = 60_000;
const stopWaitMs = 30_000;

/** The reason why tests with PostgreSQL 15 can't run here; false if they can. */
export const withoutDebianPostgres = existsSync(join(programs, 'pg_dump'))
  ? false
  : `PostgreSQL 15 is not in ${programs}: apt-get install postgresql`;

export interface DebianPostgres {
  readonly port: number;
  /** The address of a database as superuser. */
  url(database: string): string;
  /** Starts it again, on the same port and data. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stops it cleanly, copies its data and starts it again; the returned function restores the copy in the same way. */
  copyData(): Promise<() => Promise<void>>;
}

/** Starts Debian's PostgreSQL 15 in a folder that does not exist yet, on a free port of loopback. */
export async function startDebianPostgres(folder: string): Promise<DebianPostgres> {
  makeFolder(folder);
  const init = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-sync'];
  run(folder, join(programs, 'initdb'), ['-D', join(folder, 'data'), ...init]);
  return serve(folder);
}

/** Starts a streaming standby of it in a folder that does not exist yet. */
export async function startStandby(primary: DebianPostgres, folder: string): Promise<DebianPostgres> {
  makeFolder(folder);
  const how = ['-R', '-X', 'stream', '-c', 'fast', '--no-sync'];
  run(folder, join(programs, 'pg_basebackup'), [
    '-d',
    primary.url('postgres'),
    '-D',
    join(folder, 'data'),
    ...how,
  ]);
  return serve(folder);
}

/** Uses an account other than root, because some of Debian's programs refuse to run as root. */
export function processOptions(folder: string) {
  const account = process.getuid?.() === 0 ? accountOf('postgres') : undefined;
  return { ...account, cwd: folder, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } };
}

/** Creates a folder in which such a program may write. */
export function makeFolder(folder: string): void {
  mkdirSync(folder, { mode: 0o700 });
  const { uid, gid } = processOptions(folder);
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
}

/** Ends a process, by force if it takes too long. */
export async function stopProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), stopWaitMs);
  await ended;
  clearTimeout(late);
}

async function serve(folder: string): Promise<DebianPostgres> {
  const data = join(folder, 'data');
  const port = Number(await freePort());
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    max_prepared_transactions: 4,
    fsync: 'off',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let server: ChildProcess;
  const stop = (signal: NodeJS.Signals) => stopProcess(server, signal);
  const start = async () => {
    server = spawn(join(programs, 'postgres'), ['-D', data, ...args], {
      ...processOptions(folder),
      stdio: 'ignore',
    });
    await untilReady(server, port).catch(async (error: unknown) => {
      await stop('SIGQUIT');
      throw error;
    });
  };
  await start();
  return {
    port,
    url: (database) => `postgresql://postgres@127.0.0.1:${port}/${database}`,
    start,
    stop: () => stop('SIGQUIT'),
    async copyData() {
      await stop('SIGINT');
      const copy = join(folder, 'copy');
      run(folder, 'cp', ['-a', data, copy]);
      await start();
      return async () => {
        await stop('SIGINT');
        rmSync(data, { recursive: true });
        run(folder, 'cp', ['-a', copy, data]);
        await start();
      };
    },
  };
}

function run(folder: string, program: string, args: readonly string[]): void {
  const done = spawnSync(program, args, { ...processOptions(folder), encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`${program}: ${done.stderr}`);
}

function accountOf(name: string): { uid: number; gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`${name}:`));
  const [, , uid, gid] = (line ?? '').split(':');
  return { uid: Number(uid), gid: Number(gid) };
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
