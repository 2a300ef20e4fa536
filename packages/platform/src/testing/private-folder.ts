import { chmodSync, existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memoryFileSystem = '/dev/shm';
const memoryBytesMin = 2 * 1024 ** 3;

/** Where files need no disk, which takes most of the time of a test that starts PostgreSQL; else the temporary folder. */
export function folderInMemory(): string {
  if (!existsSync(memoryFileSystem)) return tmpdir();
  const { bavail, bsize } = statfsSync(memoryFileSystem);
  return bavail * bsize < memoryBytesMin ? tmpdir() : memoryFileSystem;
}

/** A new empty folder that only this user can enter, like Baton's home. @param parent the folder around it */
export function privateFolder(parent = tmpdir()): { path: string; remove(): Promise<void> } {
  const path = mkdtempSync(join(parent, 'baton-platform-'));
  chmodSync(path, 0o700);
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}
