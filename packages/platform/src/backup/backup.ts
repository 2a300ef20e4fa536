import { existsSync, readdirSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { takeLock } from '../../../../bin/lock.mjs';
import { type Environment, type PlatformSettings, readPlatformSettings } from '../config.ts';
import { dataVersion } from '../home.ts';
import { formatPlaces, placesOfHome } from '../home-databases.ts';
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
  /** Prints a line for the user. */
  say(line: string): void;
  readonly signal: AbortSignal;
}

/**
 * Writes everything that a Baton needs into one file, readable by its owner only. Works whether Baton is running or
 * not.
 * @throws StartError if it fails; then no file is written
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
  say('The backup contains unencrypted keys and secrets. Protect it like the folder itself.');
  const outside = settingsOutside(env, settings.BATON_HOME);
  if (outside.length > 0)
    say(`Not included, because they are outside of BATON_HOME: the files of ${outside.join(', ')}.`);
  const store = artifactSettingOutside(env, settings.BATON_HOME);
  if (store !== undefined) say(`Not included: artifact contents, which are stored elsewhere (${store}).`);
}

export const thisPlatform = `${process.platform}-${process.arch}`;

/** @throws StartError if a database is not the built-in one, by the settings or by the folder's last run */
export function refuseOtherDatabases({
  BATON_HOME: home,
  IAM_DATABASE_URL: iam,
  CP_DATABASE_URL: cp,
}: PlatformSettings): void {
  if (iam !== '' || cp !== '')
    throw new StartError(
      'IAM_DATABASE_URL or CP_DATABASE_URL is set. Back up your own PostgreSQL with its own tools (docs/operations.md).',
    );
  const places = placesOfHome(home);
  if (places !== undefined && places !== 'built-in')
    throw new StartError(
      `The Baton in ${home} stores its data in your own PostgreSQL (${formatPlaces(places)}). Use its own tools (docs/operations.md).`,
    );
}

/**
 * A restore rejects objects that could be an attack. Reports such objects now, rather than when the backup is needed.
 * @throws StartError naming the first such object
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

/** Files that PostgreSQL excludes from every base backup. */
const neverCopied =
  /^(postmaster\.(pid|opts)|current_logfiles(\.tmp)?|postgresql\.auto\.conf\.tmp|tablespace_map)$/;

/** The server of a running Baton, or a server that is started for the backup and stopped afterwards. */
async function findOrStart(
  home: string,
  say: (line: string) => void,
): Promise<{ cluster: Cluster; leave(): Promise<void> }> {
  const directory = join(home, 'postgres');
  if (!existsSync(join(home, 'version.json')))
    throw new StartError(`No Baton data in ${home}. Set BATON_HOME to the right folder.`);
  const { release } = takeLock(join(home, 'lock'));
  if (release === undefined) {
    const running = await findCluster(directory, say);
    if (running === undefined)
      throw new StartError('Baton is starting or stopping. Try again in a few seconds.');
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
 * Writes to a temporary name and renames the file at the end, so that an incomplete backup never exists.
 * @throws StartError if the file exists or can't be written
 */
async function writeNew(path: string, content: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void> {
  if (existsSync(path))
    throw new StartError(`${path} already exists. Choose another name, or remove the file.`);
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
    if (signal.aborted) throw new StartError('Stopped. No backup was written.', { cause });
    if (cause instanceof StartError) throw cause;
    throw new StartError(`Cannot write ${path} (${failureCode(cause) || (cause as Error).message}).`, {
      cause,
    });
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync();
  await folder.close();
}
