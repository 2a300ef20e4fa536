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

/** Raised with every change that makes the folder unreadable for an older Baton. */
export const dataVersion = 1;

/** Baton's data folder, locked by this process until it is released. */
export interface Home {
  readonly directory: string;
  /** This start created it. */
  readonly isNew: boolean;
  path(...names: string[]): string;
  release(): void;
}

/**
 * Opens and locks the folder; the first start creates it.
 * @throws StartError when it can't be written, another Baton uses it, or a newer Baton wrote it
 */
export function openHome(directory: string): Home {
  const lock = lockFolder(directory);
  const { isNew } = lock;
  try {
    finishReplacement(directory);
    const path = (...names: string[]) => join(directory, ...names);
    checkVersion(path('version.json'));
    mkdirSync(path('secrets'), { recursive: true, mode: 0o700 });
    // Also where it was made with other rights: as root, the home itself lets the database's user pass (0710).
    chmodSync(path('secrets'), 0o700);
    return { directory, isNew, path, release: lock.release };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * Locks the folder, which is created when missing, whatever is in it.
 * @throws StartError when it can't be written, another user's Baton is in it, or another Baton uses it
 */
export function lockFolder(directory: string): { isNew: boolean; release: () => void } {
  const isNew = ensureWritable(directory);
  const { release } = lockHome(directory);
  try {
    refuseOtherUsersBaton(directory);
    // Only with the lock: the server of a running Baton needs the folder as it is.
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
 * Two users can't run one Baton in turn, because neither can read the files that the other one wrote. Every start writes the
 * connection file, so its owner is the user of the last start. The new lock shows which owner the file system gives to this
 * user's files: a network file system may give those of root to nobody.
 */
function refuseOtherUsersBaton(directory: string): void {
  const ownerIn = (name: string) => statSync(join(directory, name), { throwIfNoEntry: false })?.uid;
  const [ownId, owner] = [ownerIn('lock'), ownerIn('connection.json') ?? ownerIn('version.json')];
  if (owner === undefined || owner === ownId) return;
  throw new StartError(
    `The Baton in ${directory} belongs to user ${owner}, and this is user ${ownId}: run this as user ${owner}, or stop that Baton and take it over with chown -R ${ownId} ${directory}.`,
  );
}

/**
 * Creates a folder and its missing parents one by one: with `recursive`, mkdir loops for ever on a file system that
 * denies that a folder can exist, as /proc does.
 * @returns whether this call created it
 */
function makeFolder(directory: string): boolean {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return false;
  if (dirname(directory) !== directory) makeFolder(dirname(directory));
  try {
    mkdirSync(directory, { mode: 0o700 });
    return true;
  } catch (error) {
    // Another Baton that starts at the same time created it.
    if (failureCode(error) === 'EEXIST' && statSync(directory).isDirectory()) return false;
    throw error;
  }
}

/**
 * Takes the folder from all but its owner, as a new one is; someone may have made it before, as a volume is made. As root,
 * the group of the database's server keeps the right to pass. A folder with other things in it is left as it is: BATON_HOME
 * may name one like /tmp by mistake.
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
  const reason = isFile
    ? 'a file is in its place'
    : `you may not write there (${code})${ownerOfDenied(directory)}`;
  return new StartError(
    `Baton can't keep its data in ${directory}, because ${reason}: set BATON_HOME to a folder that you may write.`,
    { cause },
  );
}

/** Whose the folder is, or the nearest one above it that there is; nothing where it is this user's own. */
function ownerOfDenied(directory: string): string {
  let found: Stats | undefined;
  for (let at = directory; found === undefined; at = dirname(at)) {
    try {
      found = statSync(at);
    } catch {
      if (dirname(at) === at) return '';
    }
  }
  return found.uid === process.geteuid?.() ? '' : `, as it belongs to user ${found.uid}`;
}

function lockHome(directory: string): { release: () => void } {
  try {
    const lock = takeLock(join(directory, 'lock'));
    if (lock.release !== undefined) return lock;
    throw new StartError(
      `Another Baton (process ${lock.holderPid}) is using ${directory}: stop it first, or set BATON_HOME to another folder.`,
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
  if (found === undefined) throw new StartError(`${path} is damaged: restore it from a backup.`);
  if (found > dataVersion)
    throw new StartError(
      `A newer Baton wrote this data (version ${found} in ${path}, this Baton knows ${dataVersion}): use the newer Baton.`,
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
