import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { takeLock } from '../../../bin/lock.mjs';
import { readPrivateFile, writePrivateFile } from './private-files.ts';
import { failureCode, StartError } from './start-error.ts';

/** Raised with every change after which an older Baton would misread the folder. */
export const dataVersion = 1;

/** Baton's own folder, held by this process alone until it is released. */
export interface Home {
  readonly directory: string;
  /** Nothing had been here before. */
  readonly isNew: boolean;
  path(...names: string[]): string;
  release(): void;
}

/**
 * Opens the folder, making it at the first start.
 * @throws StartError when it can't be written, another Baton has it, or a newer Baton wrote it
 */
export function openHome(directory: string): Home {
  const isNew = makeWritable(directory);
  const lock = lockOf(directory);
  try {
    const path = (...names: string[]) => join(directory, ...names);
    checkVersion(path('version.json'));
    mkdirSync(path('secrets'), { recursive: true, mode: 0o700 });
    return { directory, isNew, path, release: lock.release };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function makeWritable(directory: string): boolean {
  try {
    const isNew = makeFolder(directory);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    return isNew;
  } catch (error) {
    throw cannotWrite(directory, error);
  }
}

/**
 * Makes a folder and those above it that are missing, one by one: `recursive` never ends where a file system answers
 * that a folder can't exist, as /proc does.
 * @returns whether it was made now
 */
function makeFolder(directory: string): boolean {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return false;
  if (dirname(directory) !== directory) makeFolder(dirname(directory));
  try {
    mkdirSync(directory, { mode: 0o700 });
    return true;
  } catch (error) {
    // A rival that starts at the same moment made it.
    if (failureCode(error) === 'EEXIST' && statSync(directory).isDirectory()) return false;
    throw error;
  }
}

function cannotWrite(directory: string, cause: unknown): StartError {
  const code = failureCode(cause);
  const isFile = code === 'EEXIST' || code === 'ENOTDIR';
  const reason = isFile ? 'a file is in its place' : `you may not write there (${code})`;
  return new StartError(
    `Baton can't keep its data in ${directory}, because ${reason}: set BATON_HOME to a folder of yours.`,
    { cause },
  );
}

function lockOf(directory: string): { release: () => void } {
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
  if (found === undefined) throw new StartError(`${path} is not readable: restore it from a backup.`);
  if (found > dataVersion)
    throw new StartError(
      `The data were written by a newer Baton (version ${found} in ${path}, this one knows ${dataVersion}): use the newer Baton.`,
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
