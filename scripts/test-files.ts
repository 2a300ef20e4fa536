import { globSync } from 'node:fs';
import type { Depth } from './test-order.ts';

const folders = ['packages/*/src', 'packages/*/web/src', 'e2e', 'bench', 'scripts'];

/** Returns whether only the long proof runs a file. */
const isLong = (file: string) => file.endsWith('.long.test.ts');

/** Returns the paths of all test files, relative to the repository. */
export function testFiles(root: string): string[] {
  const patterns = folders.map((folder) => `${folder}/**/*.test.ts`);
  // Cerbos and the packages that the benchmarks compare with have their own node_modules.
  return globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] }).sort();
}

/**
 * Selects the files of a run.
 * @param patterns parts of paths; empty for all. At the usual depth a `.long.test.ts` file runs only if they match no
 * other file
 */
export function pickFiles(files: readonly string[], patterns: readonly string[], depth: Depth): string[] {
  if (patterns.length === 0) return files.filter((file) => depth === 'long' || !isLong(file));
  const named = files.filter((file) => patterns.some((pattern) => file.includes(pattern)));
  const usual = named.filter((file) => depth === 'long' || !isLong(file));
  return usual.length > 0 ? usual : named;
}
