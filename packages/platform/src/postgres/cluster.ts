import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../start-error.ts';
import { type Account, chooseAccount, keepReachable } from './account.ts';
import { locateBinaries } from './binaries.ts';
import { isAlive, isServerOf, readPidFile } from './pid-file.ts';
import {
  addressOf,
  dataOf,
  initialise,
  launch,
  logOf,
  removeDrafts,
  superuser,
  waitUntilReady,
} from './server-process.ts';
import { prepareSocketDirectory } from './socket-directory.ts';

/** A running PostgreSQL, either started by this process or adopted. */
export interface Cluster {
  readonly pid: number;
  /** Whether the server was already running, because it survived the process that started it. */
  readonly adopted: boolean;
  readonly logFile: string;
  /** Resolves when the server has ended for any reason. */
  readonly ended: Promise<void>;
  /** The address of a database, for a role (the superuser by default). */
  url(database: string, role?: string): string;
  /** A fast shutdown: open transactions are rolled back, all data is flushed, the next start needs no recovery. */
  stop(): Promise<void>;
}

export interface ClusterOptions {
  /** The server's folder, created if missing. Its parent, Baton's folder, exists. */
  readonly directory: string;
  /** False for a disposable cluster: faster, but its data does not survive a crash of the machine. */
  readonly durable: boolean;
  /** Whether the data may come from an untrusted source. The server then runs no autovacuum and no subscriptions. */
  readonly isUntrusted?: boolean;
  /** Prints a line for the user when a step takes long. */
  say(line: string): void;
}

const watchMs = 200;
const stopWaitMs = 30_000;
const quitWaitMs = 5000;
/** After a server is killed, its last child processes need a moment to exit. Until then a new server can't start. */
const startAttemptsMax = 40;
const startRetryMs = 250;

/**
 * Starts PostgreSQL on its data directory, which the first start creates. Adopts a server that is still running on it.
 * @throws StartError
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { directory, durable, isUntrusted = false, say } = options;
  refuseForeignFolder(directory);
  const running = await findCluster(directory, say);
  if (running !== undefined) return running;
  const binaries = await locateBinaries();
  const account = chooseAccount(dirname(binaries.postgres), directory);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  chownToAccount(directory, account);
  removeDrafts(directory);
  const folder = { directory, account, durable, isUntrusted };
  if (!existsSync(dataOf(directory))) await initialise(binaries.initdb, folder);
  const socketDirectory = prepareSocketDirectory(directory, account);
  for (let attempt = 1; ; attempt += 1) {
    const launched = await launch(binaries.postgres, folder, socketDirectory, say);
    if ('pid' in launched) return clusterOf(launched.pid, socketDirectory, directory, false);
    if (attempt === startAttemptsMax || !launched.failure.includes('is still in use'))
      throw new StartError(startFailure(directory, launched.failure));
    await sleep(startRetryMs);
  }
}

/** The running server of this folder, once it accepts connections; undefined if none is running. */
export async function findCluster(
  directory: string,
  say: (line: string) => void,
): Promise<Cluster | undefined> {
  const running = await findRunning(directory, say);
  if (running === undefined) return undefined;
  keepReachable(directory);
  return clusterOf(running.pid, running.socketDirectory, directory, true);
}

function clusterOf(pid: number, socketDirectory: string, directory: string, adopted: boolean): Cluster {
  const ended = (async () => {
    while (isAlive(pid)) await sleep(watchMs);
  })();
  return {
    pid,
    adopted,
    ended,
    logFile: logOf(directory),
    url: (database, role = superuser) => addressOf(socketDirectory, database, role),
    async stop() {
      for (const [signal, waitMs] of [
        ['SIGINT', stopWaitMs],
        ['SIGQUIT', quitWaitMs],
      ] as const) {
        if (!isAlive(pid)) break;
        process.kill(pid, signal);
        const deadline = performance.now() + waitMs;
        while (isAlive(pid) && performance.now() < deadline) await sleep(20);
      }
      // The folder is empty after a clean stop. If it is in the temporary folder, nothing else would remove it.
      await rmdir(socketDirectory).catch(() => undefined);
    },
  };
}

function refuseForeignFolder(directory: string): void {
  if (!existsSync(directory) || process.getuid?.() === 0) return;
  const { uid } = statSync(directory);
  if (uid !== process.getuid?.())
    throw new StartError(
      `PostgreSQL's folder ${directory} belongs to user ${uid}, because Baton was started there as root. Start it as root again, or change the owner with chown -R.`,
    );
}

async function findRunning(directory: string, say: (line: string) => void) {
  const data = dataOf(directory);
  const found = await readPidFile(data);
  if (found === undefined || !(await isServerOf(data, found.pid))) return undefined;
  const { pid, socketDirectory } = found;
  const waiting = () =>
    say(`Waiting for PostgreSQL (process ${pid}), which is still starting or stopping ...`);
  if (await waitUntilReady(socketDirectory, () => isAlive(pid), waiting)) return found;
  if (!isAlive(pid)) return undefined;
  throw new StartError(
    `PostgreSQL (process ${pid}) is using ${data} but does not respond. Stop it with "kill -INT ${pid}" and start again.`,
  );
}

/** As root: makes the server's account the owner of the folder. An earlier start may have used another account. */
function chownToAccount(directory: string, account: Account): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = account.user ?? { uid: 0, gid: 0 };
  if (statSync(directory).uid !== uid) spawnSync('chown', ['-R', `${uid}:${gid}`, directory]);
}

function startFailure(directory: string, failure: string): string {
  if (!failure.includes('incompatible with server'))
    return `PostgreSQL did not start (${failure}). See its log: ${logOf(directory)}.`;
  const version = readFileSync(join(dataOf(directory), 'PG_VERSION'), 'utf8').trim();
  return `The data in ${directory} was created by PostgreSQL ${version}, but this Baton includes another version. Use the Baton that created it.`;
}
