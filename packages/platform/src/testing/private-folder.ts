import { chmodSync, existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memoryFileSystem = '/dev/shm';
const memoryBytesMin = 2 * 1024 ** 3;

/**
 * Returns a folder in memory if it has space, otherwise the temporary folder. Tests that start PostgreSQL mostly wait
 * for the disk.
 */
export function folderInMemory(): string {
  if (!existsSync(memoryFileSystem)) return tmpdir();
  const { bavail, bsize } = statfsSync(memoryFileSystem);
  return bavail * bsize < memoryBytesMin ? tmpdir() : memoryFileSystem;
}

/**
 * Creates an empty folder that only this user can access, like Baton's home.
 * @param parent the folder that contains it
 */
export function privateFolder(parent = tmpdir()): { path: string; remove(): Promise<void> } {
  const path = mkdtempSync(join(parent, 'baton-platform-'));
  chmodSync(path, 0o700);
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}
