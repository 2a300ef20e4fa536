import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Store } from '../store.ts';

let writes = 0;

/**
 * Keeps a text in a file that only its owner may read. A write that a crash interrupts leaves the text before it.
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
      // Two writes at once have each a file of their own.
      writes += 1;
      const next = `${path}.${process.pid}.${writes}.tmp`;
      await writeFile(next, text, { mode: 0o600 });
      await rename(next, path);
    },
  };
}
