import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Every TypeScript file of the repository that people write, as paths inside it. */
export function sourceFiles(root: string): string[] {
  const patterns = ['packages/*/src/**/*.ts', 'scripts/**/*.ts', 'bench/**/*.ts', 'e2e/**/*.ts'];
  return globSync(patterns, { cwd: root })
    .filter((file) => !isGenerated(join(root, file)))
    .sort();
}

/** Generated files say so on line one. */
function isGenerated(path: string): boolean {
  return /generated/i.test(readFileSync(path, 'utf8').split('\n', 1)[0] as string);
}

/** Files of more lines than a person reads in one sitting, as problems. Tests may be longer: they are lists. */
export function oversizedFiles(root: string, files: readonly string[], linesMax: number): string[] {
  return files
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => ({ file, lines: readFileSync(join(root, file), 'utf8').split('\n').length - 1 }))
    .filter(({ lines }) => lines > linesMax)
    .map(({ file, lines }) => `${file} has ${lines} lines, more than ${linesMax}: split it by what it does`);
}
