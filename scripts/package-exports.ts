import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Import } from './layers.ts';

interface Manifest {
  readonly exports?: Readonly<Record<string, string>>;
  readonly private?: boolean;
}

/**
 * Compares the exports of each package with the imports from it. Both must be equal, because an unused entry would
 * hide an unused file. The exports of a published package are for its users.
 * @param root the repository; @param imports those of all its files
 */
export function checkExports(root: string, imports: readonly Import[]): string[] {
  const others = imports.filter(({ from, to }) => to !== undefined && packageOf(from) !== packageOf(to));
  const exported = new Set<string>();
  const problems: string[] = [];
  for (const path of globSync('packages/*/package.json', { cwd: root }).sort()) {
    const manifest: Manifest = JSON.parse(readFileSync(join(root, path), 'utf8'));
    for (const [subpath, target] of Object.entries(manifest.exports ?? {})) {
      const file = join(dirname(path), target);
      exported.add(file);
      const module = subpath === '.' ? 'index' : subpath.slice(2);
      if (target !== `./src/${module}.ts` || subpath.includes('*'))
        problems.push(`${path} exports ${subpath}: write it as "./<module>": "./src/<module>.ts"`);
      else if (manifest.private === true && !others.some(({ to }) => to === file))
        problems.push(`${path} exports ${subpath}, which no other package, script or bench imports`);
    }
  }
  const inside = others
    .filter(({ specifier, to }) => specifier.startsWith('@baton/') && !exported.has(to as string))
    .map(
      ({ from, specifier, to }) =>
        `${from} imports ${specifier}: packages/${packageOf(to)} doesn't export it`,
    );
  return [...problems, ...inside];
}

function packageOf(file: string | undefined): string | undefined {
  return /^packages\/([^/]+)\//.exec(file ?? '')?.[1];
}
