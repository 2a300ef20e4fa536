import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { failureCode, StartError } from './start-error.ts';

/** Writes a file that only its owner can read. Atomic, even if the machine crashes. */
export function writePrivateFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}.new`;
  const file = openSync(draft, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

/**
 * The file's text, or undefined if it does not exist.
 * @throws StartError for the file of another user
 */
export function readPrivateFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const code = failureCode(cause);
    if (code === 'ENOENT') return undefined;
    if (code !== 'EACCES') throw cause;
    throw new StartError(
      `Cannot read ${path} (${code}): this Baton belongs to another user, for example after "sudo baton start". Run this as that user, or set BATON_HOME to your own folder.`,
      { cause },
    );
  }
}
