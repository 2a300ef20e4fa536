import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchownSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { failureCode, StartError } from '../start-error.ts';
import type { Account } from './account.ts';
import { isServerOf, readPidFile } from './pid-file.ts';
import { serverSettings } from './server-settings.ts';

/** The role that owns the cluster. It has no password: access to the socket's folder is sufficient. */
export const superuser = 'baton';

const pollMsMin = 10;
const pollMsMax = 200;
const slowStartMs = 5000;
const readyWaitMs = 600_000;
const logBytesMax = 16 * 1024 * 1024;

export interface ServerFolder {
  /** Contains `data`, `server.log` and, if its path is short enough, the socket. */
  readonly directory: string;
  readonly account: Account;
  readonly durable: boolean;
  readonly isUntrusted: boolean;
}

export const dataOf = (directory: string) => join(directory, 'data');
export const logOf = (directory: string) => join(directory, 'server.log');

/**
 * Creates the data directory of a new cluster under a unique name and renames it at the end. An initdb that survived
 * its killed Baton may still write to the folder of an earlier call, so no name is reused.
 * @throws StartError with initdb's error
 */
export async function initialise(
  initdb: string,
  { directory, account, durable }: ServerFolder,
): Promise<void> {
  const draft = `${dataOf(directory)}.new-${randomBytes(4).toString('hex')}`;
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const others = ['--auth=trust', '--no-instructions', ...(durable ? [] : ['--no-sync'])];
  const { program, args, options } = command(account, initdb, [
    '-D',
    draft,
    '-U',
    superuser,
    ...locale,
    ...others,
  ]);
  try {
    await promisify(execFile)(program, args, { ...options, cwd: directory });
  } catch (cause) {
    const { stderr, message } = cause as { stderr?: string; message: string };
    const reason = stderr ? failureReason(stderr) : message;
    throw new StartError(`Cannot create PostgreSQL's data directory in ${directory}: ${reason}`, { cause });
  }
  renameSync(draft, dataOf(directory));
}

/** Removes incomplete data directories, except one that an initdb is still writing: a later start removes it. */
export function removeDrafts(directory: string): void {
  for (const name of readdirSync(directory).filter((name) => name.startsWith('data.new')))
    try {
      rmSync(join(directory, name), { recursive: true, force: true });
    } catch (error) {
      if (!['ENOTEMPTY', 'EBUSY', 'EPERM'].includes(failureCode(error))) throw error;
    }
}

/**
 * Starts the server and waits until it accepts connections. It runs in its own session, so that Ctrl-C in the terminal
 * doesn't stop it before requests in progress have finished.
 * @returns its process id, or the reason of its exit
 * @throws StartError if it runs but never accepts connections
 */
export async function launch(
  postgres: string,
  { directory, account, durable, isUntrusted }: ServerFolder,
  socketDirectory: string,
  say: (line: string) => void,
): Promise<{ pid: number } | { failure: string }> {
  const data = dataOf(directory);
  const log = openLog(directory, account);
  const settings = serverSettings({ socketDirectory, durable, isUntrusted });
  const { program, args, options } = command(account, postgres, ['-D', data, ...settings]);
  const env = { ...options.env, ...(await ignoreStalePid(data)) };
  const server = spawn(program, args, {
    ...options,
    env,
    cwd: directory,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  closeSync(log.fd);
  const isRunning = () => server.pid !== undefined && server.exitCode === null && server.signalCode === null;
  const ended = new Promise<string>((resolve) => {
    server.once('error', (error) => resolve(error.message));
    server.once('exit', () => resolve(failureReason(readLog(directory).slice(log.length))));
  });
  server.unref();
  const ready = waitUntilReady(socketDirectory, isRunning, () =>
    say('PostgreSQL is recovering from an unclean shutdown. This can take a while ...'),
  );
  const first = await Promise.race([ended, ready]);
  if (typeof first === 'string') return { failure: first };
  if (first) return { pid: server.pid as number };
  if (!isRunning()) return { failure: await ended };
  server.kill('SIGQUIT');
  throw new StartError(
    `PostgreSQL started but never accepted connections. See its log: ${logOf(directory)}.`,
  );
}

/**
 * Polls until the server accepts connections (true), or exits, or ten minutes have passed (false).
 * @param onSlow called once after five seconds
 */
export async function waitUntilReady(
  socketDirectory: string,
  isRunning: () => boolean,
  onSlow: () => void,
): Promise<boolean> {
  const began = performance.now();
  let isReported = false;
  let pollMs = pollMsMin;
  while (performance.now() - began < readyWaitMs && isRunning()) {
    if (await acceptsConnections(socketDirectory)) return true;
    if (!isReported && performance.now() - began > slowStartMs) {
      isReported = true;
      onSlow();
    }
    await sleep(pollMs);
    pollMs = Math.min(pollMs * 1.5, pollMsMax);
  }
  return false;
}

async function acceptsConnections(socketDirectory: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: guardAddress(addressOf(socketDirectory, 'postgres', superuser)),
    connectionTimeoutMillis: 2000,
  });
  // A server that is stopping may close the connection at any time.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The address of a database in the cluster whose socket is in this folder. */
export function addressOf(socketDirectory: string, database: string, user: string): string {
  return `postgresql://${user}@localhost:5432/${database}?host=${encodeURIComponent(socketDirectory)}`;
}

/**
 * The same address, for connections that run no event triggers and load no libraries, whatever the cluster configures
 * for its roles and databases: a restored cluster may be untrusted.
 * @param address as superuser
 */
export function guardAddress(address: string): string {
  const settings = ['event_triggers=off', 'session_preload_libraries=', 'local_preload_libraries='];
  return `${address}&options=${encodeURIComponent(settings.map((setting) => `-c ${setting}`).join(' '))}`;
}

function command(account: Account, path: string, parameters: readonly string[]) {
  const [program, ...args] = [...account.prefix, path, ...parameters] as [string, ...string[]];
  // PostgreSQL reads many variables (PGDATA, PGPORT, ...), so the user's environment is not passed on.
  const env: Record<string, string | undefined> = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
  return { program, args, options: { ...account.user, env } };
}

/**
 * After a crash, the pid in `postmaster.pid` may belong to another process, or to a server that hasn't been reaped yet,
 * and PostgreSQL would not start. With this variable, which pg_ctl sets too, it ignores that pid; its shared memory
 * still protects the data from a second server.
 */
async function ignoreStalePid(data: string): Promise<Record<string, string>> {
  const found = await readPidFile(data);
  if (found === undefined || (await isServerOf(data, found.pid))) return {};
  return { PG_GRANDPARENT_PID: String(found.pid) };
}

/**
 * Opens the log for appending, without following a link: if this process is root, another user owns the log's folder.
 */
function openLog(directory: string, { user }: Account): { fd: number; length: number } {
  const path = logOf(directory);
  try {
    if (statSync(path).size > logBytesMax) renameSync(path, `${path}.1`);
  } catch (error) {
    if (failureCode(error) !== 'ENOENT') throw error;
  }
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
  const fd = openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  // As root, `baton backup` may start the server as another user, who opens this file at the next start.
  if (user !== undefined) fchownSync(fd, user.uid, user.gid);
  return { fd, length: readFileSync(path, 'utf8').length };
}

/**
 * The server's log; empty if a failed restore has already removed the folder, which it does as soon as the server has
 * ended.
 */
function readLog(directory: string): string {
  try {
    return readFileSync(logOf(directory), 'utf8');
  } catch (error) {
    if (failureCode(error) === 'ENOENT') return '';
    throw error;
  }
}

/** The line of a program's output that explains why it ended. */
function failureReason(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const reason = lines.findLast((line) => /FATAL|PANIC|error:/.test(line)) ?? lines.at(-1) ?? 'no output';
  return reason.replace(/^.*?(FATAL|PANIC|error):\s*/, '');
}
