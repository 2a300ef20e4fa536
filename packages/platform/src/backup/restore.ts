import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { invocation } from '../../../../bin/invocation.mjs';
import { type Environment, type PlatformSettings, readPlatformSettings } from '../config.ts';
import { connectionFile } from '../connection.ts';
import { dataVersion, lockFolder } from '../home.ts';
import { formatPlaces, knownPlaces } from '../home-databases.ts';
import { draftOf, finishReplacement, hasParts, removeDrafts, replaceParts } from '../home-parts.ts';
import { locateBinaries } from '../postgres/binaries.ts';
import { type Cluster, startCluster } from '../postgres/cluster.ts';
import { writeConfiguration } from '../postgres/configuration.ts';
import { isServerOf, readPidFile } from '../postgres/pid-file.ts';
import { readPrivateFile, writePrivateFile } from '../private-files.ts';
import { failureCode, StartError } from '../start-error.ts';
import { type Manifest, ownFolder, unpackArchive, verifyArchive } from './archive.ts';
import { draftArtifactFiles } from './artifact-bytes.ts';
import { refuseOtherDatabases, thisPlatform } from './backup.ts';
import { auditHead, auditHeadFile } from './contents.ts';
import { findForeignCode } from './foreign-code.sql.ts';
import { startNewEpoch } from './journal-epoch.sql.ts';

export interface RestoreOptions {
  readonly env: Environment;
  readonly file: string;
  /** Whether an existing Baton in the folder may be moved to another place. */
  readonly replace: boolean;
  /** Prints a line for the user. */
  say(line: string): void;
  readonly signal: AbortSignal;
}

/**
 * Restores Baton's folder from a backup. Everything is prepared next to the existing data, and replaces it only after
 * the database has recovered and stopped.
 * @throws StartError if it fails; then nothing has changed
 */
export async function restore({ env, file, replace, say, signal }: RestoreOptions): Promise<void> {
  const settings = readPlatformSettings(env);
  refuseOtherDatabases(settings);
  const path = resolve(file);
  const archive = await openArchive(path);
  try {
    const manifest = await verifyArchive(archive, path);
    await refuseOtherKind(manifest, path);
    const home = settings.BATON_HOME;
    const lock = lockFolder(home);
    try {
      finishReplacement(home);
      await refuseRunning(home);
      if (hasParts(home) && !replace)
        throw new StartError(
          `${home} already contains a Baton. Add --replace to move it aside, or set BATON_HOME to another folder.`,
        );
      removeDrafts(home);
      const head = await prepare(settings, archive, path, { say, signal });
      commit(settings, manifest, head, say);
    } finally {
      removeDrafts(home);
      lock.release();
      if (lock.isNew) removeEmpty(home);
    }
  } finally {
    await archive.close();
  }
}

async function openArchive(path: string): Promise<FileHandle> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'r');
    if ((await file.stat()).isFile()) return file;
  } catch (cause) {
    throw new StartError(`Cannot read ${path} (${failureCode(cause)}).`, { cause });
  }
  await file.close();
  throw new StartError(`${path} is not a file.`);
}

async function refuseOtherKind(manifest: Manifest, path: string): Promise<void> {
  const { postgres } = await locateBinaries();
  const [, major] = /\) (\d+)/.exec(execFileSync(postgres, ['--version'], { encoding: 'utf8' })) ?? [];
  if (manifest.dataVersion > dataVersion)
    throw new StartError(`${path} was written by a newer version of Baton. Upgrade Baton to restore it.`);
  if (manifest.postgres !== Number(major) || manifest.platform !== thisPlatform)
    throw new StartError(
      `${path} is from PostgreSQL ${manifest.postgres} on ${manifest.platform}, but this Baton has PostgreSQL ${major} on ${thisPlatform}. Restore it with a matching Baton.`,
    );
}

/** Rejects a folder whose PostgreSQL server is running; the server can outlive its Baton. */
async function refuseRunning(home: string): Promise<void> {
  const data = join(home, 'postgres', 'data');
  const found = await readPidFile(data);
  if (found !== undefined && (await isServerOf(data, found.pid)))
    throw new StartError(
      `PostgreSQL (process ${found.pid}) is still running in ${home}. Start Baton, stop it with Ctrl-C, and try again.`,
    );
}

/**
 * Unpacks everything into drafts, recovers the database, and starts a new journal epoch.
 * @returns the last seal of the audit log, if any
 */
async function prepare(
  { BATON_HOME: home }: PlatformSettings,
  archive: FileHandle,
  path: string,
  { say, signal }: Pick<RestoreOptions, 'say' | 'signal'>,
): Promise<string | undefined> {
  const directory = draftOf(home, 'postgres');
  const data = join(directory, 'data');
  mkdirSync(data, { recursive: true, mode: 0o700 });
  await unpackArchive(archive, path, data, signal);
  writeConfiguration(data);
  const own = join(data, ownFolder);
  refuseEmptyBackup(own, path);
  const head = readPrivateFile(join(own, auditHead));
  draftOwnFiles(home, own, path);
  draftArtifactFiles(home, own);
  rmSync(own, { recursive: true });
  const cluster = await startCluster({ directory, durable: true, isUntrusted: true, say });
  try {
    await refuseForeignCode(cluster.url, path);
    await startNewEpoch(cluster.url);
  } catch (cause) {
    if (cause instanceof StartError) throw cause;
    throw new StartError(`Cannot use the databases of ${path}: ${(cause as Error).message}.`, { cause });
  } finally {
    await cluster.stop();
  }
  signal.throwIfAborted();
  return head;
}

/**
 * Before Baton's folder recorded the location of the databases, a backup could contain an empty built-in PostgreSQL.
 * @throws StartError if the Baton of the backup stored its data elsewhere
 */
function refuseEmptyBackup(own: string, path: string): void {
  const places = knownPlaces((name) => readPrivateFile(join(own, name)));
  if (places !== undefined && places !== 'built-in')
    throw new StartError(
      `${path} contains no data, because its Baton stored the data in its own PostgreSQL servers (${formatPlaces(places)}).`,
    );
}

/** @throws StartError when the restored databases contain code that would run with the superuser's rights */
async function refuseForeignCode(url: Cluster['url'], path: string): Promise<void> {
  const found = await findForeignCode(url);
  if (found !== undefined)
    throw new StartError(
      `${path} contains ${found}. Baton never creates one, and it could run programs on this machine.`,
    );
}

/** Each file is on disk before the next is written. */
function draftOwnFiles(home: string, own: string, path: string): void {
  try {
    const move = (from: string, to: string) => writePrivateFile(to, readFileSync(from, 'utf8'));
    for (const part of ['state.json', connectionFile, 'version.json'] as const)
      move(join(own, part), draftOf(home, part));
    const secrets = draftOf(home, 'secrets');
    mkdirSync(secrets, { mode: 0o700 });
    for (const name of readdirSync(join(own, 'secrets')))
      move(join(own, 'secrets', name), join(secrets, name));
  } catch (cause) {
    if (!['ENOENT', 'EISDIR', 'ENOTDIR'].includes(failureCode(cause))) throw cause;
    throw new StartError(`${path} was not written by Baton: it is incomplete.`, { cause });
  }
}

/** The point of no return: after a crash, the next start completes the restore. */
function commit(
  settings: PlatformSettings,
  manifest: Manifest,
  head: string | undefined,
  say: (line: string) => void,
): void {
  const home = settings.BATON_HOME;
  const aside = `replaced-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  const hadParts = hasParts(home);
  const headFile = auditHeadFile(settings);
  const headDraft = draftOf(home, 'secrets') + headFile.slice(join(home, 'secrets').length);
  const isInside = headFile.startsWith(join(home, 'secrets', '/'));
  if (isInside && head !== undefined) writePrivateFile(headDraft, head);
  replaceParts(home, aside);
  say(`Restored the backup of ${manifest.createdAt} to ${home}. Start it with ${invocation()} start.`);
  say(
    'Changes after that time are lost. Repeat important ones, such as disabled principals and revoked tokens.',
  );
  if (hadParts) say(`The previous data is in ${join(home, aside)}. Remove it when it is no longer needed.`);
  if (isInside) return;
  if (existsSync(headFile)) renameSync(headFile, `${headFile}.${aside}`);
  if (head !== undefined) writePrivateFile(headFile, head);
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The folder isn't empty, because the restore succeeded.
  }
}
