import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Store } from '../store.ts';

let writes = 0;

/**
 * Stores a string in a file that only its owner may read. An interrupted write keeps the previous text.
 * @example
 * const store = fileStore(`${folder}/cursor`);
 * for await (const event of baton.events.follow({ cursor: '0', store })) {
 *   console.log(event.type);
 *   break;
 * }
 */
export function fileStore(path: string): Store {
  return {
    async read() {
      try {
        return await readFile(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    async write(text) {
      await mkdir(dirname(path), { recursive: true });
      // Concurrent writes use separate temporary files.
      writes += 1;
      const next = `${path}.${process.pid}.${writes}.tmp`;
      await writeFile(next, text, { mode: 0o600 });
      await rename(next, path);
    },
  };
}
