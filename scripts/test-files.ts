import { globSync } from 'node:fs';
import type { Depth } from './test-order.ts';

const folders = ['packages/*/src', 'packages/*/web/src', 'e2e', 'bench', 'scripts'];

/** Whether a file is run by the long proof only. */
const isLong = (file: string) => file.endsWith('.long.test.ts');

/** Every test file of the repository, as paths inside it. */
export function testFiles(root: string): string[] {
  const patterns = folders.map((folder) => `${folder}/**/*.test.ts`);
  // What the benches compare with, and Cerbos, are installed in folders of their own.
  return globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] }).sort();
}

/**
 * Picks the files of a run.
 * @param patterns parts of paths; empty for all. A file of the long proof runs at the usual depth only when one names it
 */
export function pickFiles(files: readonly string[], patterns: readonly string[], depth: Depth): string[] {
  if (patterns.length === 0) return files.filter((file) => depth === 'long' || !isLong(file));
  const named = files.filter((file) => patterns.some((pattern) => file.includes(pattern)));
  const usual = named.filter((file) => depth === 'long' || !isLong(file));
  return usual.length > 0 ? usual : named;
}
