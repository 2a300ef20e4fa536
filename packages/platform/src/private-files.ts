import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { failureCode } from './start-error.ts';

/** Writes a file that only its owner may read. Atomic, also when the machine stops in the middle. */
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

/** The file's text, or undefined when there is none. */
export function readPrivateFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (failureCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
