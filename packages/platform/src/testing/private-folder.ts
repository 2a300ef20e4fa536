import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An empty folder of the test's own, as Baton's home would be; removed by `remove`. */
export function privateFolder(): { path: string; remove(): Promise<void> } {
  const path = mkdtempSync(join(tmpdir(), 'baton-platform-'));
  chmodSync(path, 0o700);
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}
