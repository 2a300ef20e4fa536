import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new empty folder that only this user can enter, like Baton's home. */
export function privateFolder(): { path: string; remove(): Promise<void> } {
  const path = mkdtempSync(join(tmpdir(), 'baton-platform-'));
  chmodSync(path, 0o700);
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}
