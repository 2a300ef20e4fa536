import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Import } from './layers.ts';

/**
 * Compares what each package exports with what others import of it: an entry that nobody needs would hide an unused file.
 * @param root the repository; @param imports those of all its files
 */
export function checkExports(root: string, imports: readonly Import[]): string[] {
  const imported = new Set(
    imports
      .filter(({ from, to }) => to !== undefined && packageOf(from) !== packageOf(to))
      .map(({ to }) => to),
  );
  return globSync('packages/*/package.json', { cwd: root })
    .sort()
    .flatMap((path) => {
      const entries: Record<string, string> =
        JSON.parse(readFileSync(join(root, path), 'utf8')).exports ?? {};
      return Object.entries(entries).flatMap(([subpath, target]) => {
        if (target !== `./src/${subpath.slice(2)}.ts` || subpath.includes('*'))
          return [`${path} exports ${subpath}: write it as "./<module>": "./src/<module>.ts"`];
        const isImported = imported.has(join(dirname(path), target));
        return isImported
          ? []
          : [`${path} exports ${subpath}, which no other package, script or bench imports`];
      });
    });
}

const packageOf = (file: string) => /^packages\/([^/]+)\//.exec(file)?.[1];
