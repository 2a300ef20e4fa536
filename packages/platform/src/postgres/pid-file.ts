import { readFile, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { processStamp } from '../../../../bin/lock.mjs';
import { failureCode } from '../start-error.ts';

/** The fields of `postmaster.pid`. */
export interface PidFile {
  readonly pid: number;
  readonly socketDirectory: string;
}

/** Reads the file; undefined if it is missing or incomplete. Only PostgreSQL itself may delete it. */
export async function readPidFile(dataDirectory: string): Promise<PidFile | undefined> {
  const text = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  const [first, , , , socketDirectory] = text.split('\n');
  const pid = Number(first);
  return Number.isInteger(pid) && pid > 1 && socketDirectory ? { pid, socketDirectory } : undefined;
}

/**
 * Whether the process is the server of this data directory. The pid of a dead server may be reused, which is common in
 * containers. A server's working directory is its data directory.
 */
export async function isServerOf(dataDirectory: string, pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  const directory = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  return directory === (await realpath(dataDirectory));
}

/** Whether the process exists, whichever user owns it; a zombie counts as dead. */
export function isAlive(pid: number): boolean {
  if (process.platform === 'linux') return processStamp(pid) !== undefined;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return failureCode(error) === 'EPERM';
  }
}
