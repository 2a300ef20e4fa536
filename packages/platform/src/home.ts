import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { takeLock } from '../../../bin/lock.mjs';
import { finishReplacement } from './home-parts.ts';
import { ownerOf } from './postgres/account.ts';
import { readPrivateFile, writePrivateFile } from './private-files.ts';
import { failureCode, StartError } from './start-error.ts';

/** Incremented with every change that makes the folder unreadable for older versions. */
export const dataVersion = 1;

/** Baton's data folder, locked by this process until `release`. */
export interface Home {
  readonly directory: string;
  /** Whether this start created the folder. */
  readonly isNew: boolean;
  path(...names: string[]): string;
  release(): void;
}

/**
 * Opens and locks the folder; the first start creates it.
 * @throws StartError if it is not writable, in use, or was written by a newer version
 */
export function openHome(directory: string): Home {
  const lock = lockFolder(directory);
  const { isNew } = lock;
  try {
    finishReplacement(directory);
    const path = (...names: string[]) => join(directory, ...names);
    checkVersion(path('version.json'));
    mkdirSync(path('secrets'), { recursive: true, mode: 0o700 });
    // Also for an existing folder: as root, the home itself is traversable by the database's user (0710).
    chmodSync(path('secrets'), 0o700);
    return { directory, isNew, path, release: lock.release };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * Locks the folder, regardless of its contents; creates it if missing.
 * @throws StartError if it is not writable, contains another user's Baton, or is in use
 */
export function lockFolder(directory: string): { isNew: boolean; release: () => void } {
  const isNew = ensureWritable(directory);
  const { release } = lockHome(directory);
  try {
    refuseOtherUsersBaton(directory);
    // Only the holder of the lock may change the permissions, because the server of a running Baton needs the current
    // ones.
    if (!isNew) closeToOthers(directory);
    return { isNew, release };
  } catch (error) {
    release();
    throw error;
  }
}

function ensureWritable(directory: string): boolean {
  try {
    const isNew = makeFolder(directory);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    return isNew;
  } catch (error) {
    throw cannotWrite(directory, error);
  }
}

/**
 * Two users can't alternate in running one Baton, because neither can read the files of the other. Every start writes
 * the connection file, so its owner is the user of the last start. The owner of the new lock is the owner that the
 * file system assigns to this user's files: a network file system may map root to nobody.
 */
function refuseOtherUsersBaton(directory: string): void {
  const ownerIn = (name: string) => statSync(join(directory, name), { throwIfNoEntry: false })?.uid;
  const [ownId, owner] = [ownerIn('lock'), ownerIn('connection.json') ?? ownerIn('version.json')];
  if (owner === undefined || owner === ownId) return;
  throw new StartError(
    `The Baton in ${directory} belongs to user ${owner}, but the current user is ${ownId}. Run this as user ${owner}, or stop that Baton and change the owner with chown -R ${ownId} ${directory}.`,
  );
}

/**
 * Creates a folder and its missing parents one by one: with `recursive`, mkdir loops forever on a file system that
 * can't contain new folders, such as /proc.
 * @returns whether this call created it
 */
function makeFolder(directory: string): boolean {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return false;
  if (dirname(directory) !== directory) makeFolder(dirname(directory));
  try {
    mkdirSync(directory, { mode: 0o700 });
    return true;
  } catch (error) {
    // If the folder exists now, another Baton that is starting at the same time created it.
    if (failureCode(error) === 'EEXIST' && statSync(directory).isDirectory()) return false;
    throw error;
  }
}

/**
 * Restricts the folder to its owner, like a new one; it may have been created otherwise, for example as a volume. As
 * root, the group of the database server can still traverse it. A folder with other contents stays unchanged, because
 * BATON_HOME may point to one like /tmp by mistake.
 */
function closeToOthers(directory: string): void {
  const { mode, uid, gid } = statSync(directory);
  const isOurs =
    existsSync(join(directory, 'version.json')) || readdirSync(directory).every((name) => name === 'lock');
  const server = uid === 0 ? ownerOf(join(directory, 'postgres')) : undefined;
  const allowed = 0o700 | (server?.gid === gid ? 0o010 : 0);
  if ((mode & 0o777 & ~allowed) === 0 || uid !== process.geteuid?.() || !isOurs) return;
  chmodSync(directory, 0o700 | (mode & allowed));
}

function cannotWrite(directory: string, cause: unknown): StartError {
  const code = failureCode(cause);
  const isFile = code === 'EEXIST' || code === 'ENOTDIR';
  const reason = isFile ? 'it is a file' : `it is not writable (${code})${ownerOfDenied(directory)}`;
  return new StartError(
    `Cannot use ${directory} as the data folder: ${reason}. Set BATON_HOME to a writable folder.`,
    { cause },
  );
}

/** The owner of the folder or of its nearest existing parent; empty if it is this user. */
function ownerOfDenied(directory: string): string {
  let found: Stats | undefined;
  for (let at = directory; found === undefined; at = dirname(at)) {
    try {
      found = statSync(at);
    } catch {
      if (dirname(at) === at) return '';
    }
  }
  return found.uid === process.geteuid?.() ? '' : `; it belongs to user ${found.uid}`;
}

function lockHome(directory: string): { release: () => void } {
  try {
    const lock = takeLock(join(directory, 'lock'));
    if (lock.release !== undefined) return lock;
    throw new StartError(
      `Another Baton (process ${lock.holderPid}) is using ${directory}. Stop it first, or set BATON_HOME to another folder.`,
    );
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(failureCode(error))) throw cannotWrite(directory, error);
    throw error;
  }
}

function checkVersion(path: string): void {
  const text = readPrivateFile(path);
  if (text === undefined) {
    writePrivateFile(path, `${JSON.stringify({ dataVersion })}\n`);
    return;
  }
  const found = versionIn(text);
  if (found === undefined) throw new StartError(`${path} is damaged. Restore it from a backup.`);
  if (found > dataVersion)
    throw new StartError(
      `The data was written by a newer version of Baton (version ${found} in ${path}; this Baton supports ${dataVersion}). Upgrade Baton.`,
    );
}

function versionIn(text: string): number | undefined {
  try {
    const { dataVersion: found } = JSON.parse(text) as { dataVersion?: unknown };
    return Number.isInteger(found) ? (found as number) : undefined;
  } catch {
    return undefined;
  }
}
