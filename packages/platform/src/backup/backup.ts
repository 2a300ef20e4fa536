import { existsSync, readdirSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { takeLock } from '../../../../bin/lock.mjs';
import { type Environment, type PlatformSettings, readPlatformSettings } from '../config.ts';
import { dataVersion } from '../home.ts';
import { placesOfHome, written } from '../home-databases.ts';
import { finishReplacement } from '../home-parts.ts';
import { type Cluster, findCluster, startCluster } from '../postgres/cluster.ts';
import { serverVersion } from '../postgres/databases.sql.ts';
import { failureCode, StartError } from '../start-error.ts';
import { formatVersion, type Manifest, packArchive } from './archive.ts';
import { artifactFiles, artifactSettingOutside } from './artifact-bytes.ts';
import { baseBackup } from './base-backup.ts';
import { readContents, settingsOutside } from './contents.ts';
import { useOf } from './expected-names.ts';
import { findForeignCode } from './foreign-code.sql.ts';

export interface BackupOptions {
  readonly env: Environment;
  readonly file: string;
  /** Prints one line for the user. */
  say(line: string): void;
  readonly signal: AbortSignal;
}

/**
 * Writes all that a Baton needs to run again into one file, which only its owner may read, while Baton runs or not.
 * @throws StartError with one sentence; then there is no file
 */
export async function backUp({ env, file, say, signal }: BackupOptions): Promise<void> {
  const settings = readPlatformSettings(env);
  refuseOtherDatabases(settings);
  const path = resolve(file);
  const began = performance.now();
  const server = await findOrStart(settings.BATON_HOME, say);
  try {
    const contents = readContents(settings);
    const address = server.cluster.url('postgres');
    await refuseUnrestorable(server.cluster, settings.BATON_HOME);
    const manifest: Manifest = {
      format: 'baton-backup',
      version: formatVersion,
      createdAt: new Date().toISOString(),
      dataVersion,
      postgres: await serverVersion(address),
      platform: thisPlatform,
    };
    const artifacts = artifactFiles(settings.BATON_HOME);
    await writeNew(path, packArchive(manifest, contents, baseBackup(address), artifacts), signal);
  } finally {
    await server.leave();
  }
  const { size } = await stat(path);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  say(`Wrote ${path} (${(size / 1e6).toFixed(1)} MB, ${seconds} s).`);
  say('It holds keys and secrets as they are: keep it as safe as the folder itself.');
  const outside = settingsOutside(env, settings.BATON_HOME);
  if (outside.length > 0) say(`Not in it, as they lie elsewhere: the files of ${outside.join(', ')}.`);
  const store = artifactSettingOutside(env, settings.BATON_HOME);
  if (store !== undefined) say(`Not in it: the bytes of artifacts, which ${store} keeps elsewhere.`);
}

export const thisPlatform = `${process.platform}-${process.arch}`;

/** @throws StartError where a database is not the built-in one, by the settings or by what the folder's Baton used last */
export function refuseOtherDatabases({
  BATON_HOME: home,
  IAM_DATABASE_URL: iam,
  CP_DATABASE_URL: cp,
}: PlatformSettings): void {
  if (iam !== '' || cp !== '')
    throw new StartError(
      'IAM_DATABASE_URL or CP_DATABASE_URL names a PostgreSQL of your own: use its own tools (docs/operations.md).',
    );
  const places = placesOfHome(home);
  if (places !== undefined && places !== 'built-in')
    throw new StartError(
      `The Baton in ${home} keeps its data in a PostgreSQL of your own (${written(places)}): use its own tools (docs/operations.md).`,
    );
}

/**
 * A restore refuses what could be an attack; whoever made it themselves learns that now, and not when they need the backup.
 * @throws StartError naming the first such thing
 */
async function refuseUnrestorable(cluster: Cluster, home: string): Promise<void> {
  const found = await findForeignCode(cluster.url);
  if (found !== undefined)
    throw new StartError(
      `A restore would reject this backup, because the built-in PostgreSQL contains ${found}. Drop it and try again.`,
    );
  const data = join(home, 'postgres', 'data');
  const strange = readdirSync(data, { withFileTypes: true }).find(
    (entry) =>
      !neverCopied.test(entry.name) && useOf(entry.name, entry.isFile() ? 'File' : 'Directory') === 'refuse',
  );
  if (strange !== undefined)
    throw new StartError(
      `A restore would reject this backup, because ${join(data, strange.name)} is not a file of PostgreSQL. Move it out of the data directory.`,
    );
}

/** What PostgreSQL leaves out of every base backup. */
const neverCopied =
  /^(postmaster\.(pid|opts)|current_logfiles(\.tmp)?|postgresql\.auto\.conf\.tmp|tablespace_map)$/;

/** The server of a running Baton; of one that is stopped, a server that is started here and stopped again. */
async function findOrStart(
  home: string,
  say: (line: string) => void,
): Promise<{ cluster: Cluster; leave(): Promise<void> }> {
  const directory = join(home, 'postgres');
  if (!existsSync(join(home, 'version.json')))
    throw new StartError(`There is no Baton in ${home}: set BATON_HOME to its folder.`);
  const { release } = takeLock(join(home, 'lock'));
  if (release === undefined) {
    const running = await findCluster(directory, say);
    if (running === undefined)
      throw new StartError('Baton is starting or stopping: try again in a few seconds.');
    return { cluster: running, leave: async () => undefined };
  }
  try {
    finishReplacement(home);
    const cluster = await startCluster({ directory, durable: true, say });
    const leave = async () => {
      if (!cluster.adopted) await cluster.stop();
      release();
    };
    return { cluster, leave };
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Writes a file under another name and gives it its own at the end, so that there is never half a backup.
 * @throws StartError when there is a file of that name, or it can't be written
 */
async function writeNew(path: string, content: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void> {
  if (existsSync(path))
    throw new StartError(`There is already a file ${path}: give another name, or remove it.`);
  const draft = `${path}.${process.pid}.new`;
  try {
    const file = await open(draft, 'wx', 0o600);
    await pipeline(
      Readable.from(content),
      createGzip({ level: 5 }),
      file.createWriteStream({ flush: true }),
      {
        signal,
      },
    );
    await rename(draft, path);
    await syncFolder(dirname(path));
  } catch (cause) {
    await rm(draft, { force: true });
    if (signal.aborted) throw new StartError('Stopped: no backup was written.', { cause });
    if (cause instanceof StartError) throw cause;
    throw new StartError(`${path} can't be written (${failureCode(cause) || (cause as Error).message}).`, {
      cause,
    });
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync();
  await folder.close();
}
