import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Every TypeScript file of the repository that people write, as paths inside it. */
export function sourceFiles(root: string): string[] {
  const patterns = [
    'packages/*/src/**/*.ts',
    'scripts/**/*.ts',
    'bench/**/*.ts',
    'e2e/**/*.ts',
    'examples/**/*.ts',
  ];
  // These folders contain the packages that the benchmarks compare Baton with.
  return globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] })
    .filter((file) => !isGenerated(join(root, file)))
    .sort();
}

/** Returns the paths of all source files of the console's page, relative to the repository. */
export const pageFiles = (root: string): string[] =>
  globSync('packages/*/web/src/**/*.{ts,tsx}', { cwd: root }).sort();

/** Generated files begin with a comment that states that they are generated. */
function isGenerated(path: string): boolean {
  return /^\/\/ GENERATED\b/.test(readFileSync(path, 'utf8').split('\n', 1)[0] as string);
}

/** Returns the files that are too long to read in one sitting. Tests may be longer, because they are lists of cases. */
export function oversizedFiles(root: string, files: readonly string[], linesMax: number): string[] {
  return files
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => ({ file, lines: readFileSync(join(root, file), 'utf8').split('\n').length - 1 }))
    .filter(({ lines }) => lines > linesMax)
    .map(({ file, lines }) => `${file} has ${lines} lines, more than ${linesMax}: split it by what it does`);
}
