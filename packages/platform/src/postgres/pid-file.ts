import { readFile, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { processStamp } from '../../../../bin/lock.mjs';
import { failureCode } from '../start-error.ts';

/** What a running PostgreSQL says about itself in `postmaster.pid`. */
export interface PidFile {
  readonly pid: number;
  readonly socketDirectory: string;
}

/** Reads the file; undefined when there is none or it isn't whole. Nobody but PostgreSQL may delete it. */
export async function readPidFile(dataDirectory: string): Promise<PidFile | undefined> {
  const text = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  const [first, , , , socketDirectory] = text.split('\n');
  const pid = Number(first);
  return Number.isInteger(pid) && pid > 1 && socketDirectory ? { pid, socketDirectory } : undefined;
}

/**
 * Whether the process is the server of this data directory, or only has the number of one that died: in a container
 * the next process often gets the same one. A server's working directory is its data directory.
 */
export async function isServerOf(dataDirectory: string, pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  const directory = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  return directory === (await realpath(dataDirectory));
}

/** Whether there is such a process, also another user's; one that only waits to be reaped is dead. */
export function isAlive(pid: number): boolean {
  if (process.platform === 'linux') return processStamp(pid) !== undefined;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return failureCode(error) === 'EPERM';
  }
}
