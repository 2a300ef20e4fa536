import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { freemem, homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster } from '@baton/platform/postgres/cluster';
import type { Depth } from './test-order.ts';
import { makeFolders } from './test-records.ts';

/**
 * `npm test` searches the databases of only these tests for secrets, because they call every endpoint. Searching all
 * databases would take a tenth of the time of a run.
 */
const searchedFiles = ['identity', 'coordination'].map(
  (service) => `packages/${service}/src/app/matrix.test.ts`,
);

export interface EnvironmentOptions {
  readonly depth: Depth;
  /** Folder that keeps the records after the run; undefined to delete them. */
  readonly records?: string | undefined;
  /** Whether to search the databases of all files for secrets. */
  readonly isSearched: boolean;
}

/**
 * Prepares the shared resources of the test files: a cluster for the services, unless BATON_TEST_POSTGRES is set, and
 * one for whole Batons; a signing key; the folders of the truth and the leak test; and a cache of compiled code, which
 * makes each file start a third faster.
 */
export async function prepareEnvironment({ depth, records, isSearched }: EnvironmentOptions) {
  const directory = await mkdtemp(join(tmpdir(), 'baton-test-'));
  const { truthDirectory, leakDirectory } = makeFolders(records ?? directory);
  process.env.BATON_TEST_DEPTH = depth;
  process.env.BATON_TRUTH_DIR = truthDirectory;
  process.env.BATON_LEAK_DIR = leakDirectory;
  process.env.BATON_LEAK_TABLES = isSearched ? '' : searchedFiles.join(',');
  process.env.NODE_COMPILE_CACHE ??= await compileCache(directory);
  const keyFile = join(directory, 'signing-key.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 3072 });
  await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  process.env.BATON_TEST_SIGNING_KEY_FILE = keyFile;
  const storeDirectory = (await folderInMemory()) ?? directory;
  const start = (name: string) =>
    startCluster({ directory: join(storeDirectory, name), durable: false, say: console.log });
  const programs = await start('programs');
  process.env.BATON_TEST_PROGRAM_POSTGRES = programs.url('postgres');
  const services = process.env.BATON_TEST_POSTGRES
    ? undefined
    : await start('postgres').catch(async (error: unknown) => {
        await programs.stop();
        throw error;
      });
  if (services !== undefined) process.env.BATON_TEST_POSTGRES = services.url('postgres');
  return {
    truthDirectory,
    leakDirectory,
    async clear() {
      await Promise.all([programs.stop(), services?.stop()]);
      for (const made of [storeDirectory, directory]) await rm(made, { recursive: true, force: true });
    },
  };
}

/**
 * The folder of the cache. It is kept between runs in the account's own folder, because others must not write to it; if
 * there is no such folder, the cache is for this run only.
 */
async function compileCache(directory: string): Promise<string> {
  const kept = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'baton', 'compiled');
  try {
    await mkdir(kept, { recursive: true, mode: 0o700 });
    return kept;
  } catch {
    return join(directory, 'compiled');
  }
}

const memoryFileSystem = '/dev/shm';
/** The minimum free memory: enough for the databases of a run, with room for everything else. */
const memoryBytesMin = 8 * 1024 ** 3;

/**
 * A folder for PostgreSQL's data in memory, if enough memory is free: each test file creates a database of a thousand
 * files, which on a disk took a fifth of the run's processor time. Otherwise undefined.
 */
async function folderInMemory(): Promise<string | undefined> {
  try {
    const { bavail, bsize } = await statfs(memoryFileSystem);
    if (Math.min(bavail * bsize, freemem()) < memoryBytesMin) return undefined;
    await removeLeftFolders();
    return await mkdtemp(join(memoryFileSystem, `baton-test-${process.pid}-`));
  } catch {
    return undefined;
  }
}

/** Removes the folders of killed runs, which would continue to use memory. */
async function removeLeftFolders(): Promise<void> {
  for (const name of await readdir(memoryFileSystem)) {
    const [, pid] = /^baton-test-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(memoryFileSystem, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
