import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, normalize, relative } from 'node:path';
import { parseSync } from 'oxc-parser';

interface Specifier {
  readonly text: string;
  /** The position of the specifier in the file, including its quotes. */
  readonly start: number;
  readonly end: number;
}

/** The imports of a module, by `import`, `export … from` and `import('…')`. */
function specifiersOf(path: string, text: string): Specifier[] {
  const { module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const named = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => moduleRequest ?? []),
    ),
    ...module.dynamicImports.map(({ moduleRequest }) => moduleRequest),
  ].map(({ start, end }) => ({ text: text.slice(start + 1, end - 1), start, end }));
  // `export { a, b } from` contains its module once per name.
  return [...new Map(named.map((specifier) => [specifier.start, specifier])).values()];
}

/** The file of this repository for a specifier; undefined for npm's and Node's own modules. */
function fileOf(root: string, from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return normalize(join(dirname(from), specifier));
  const [, name, path] = /^@baton\/([^/]+)(?:\/(.+))?$/.exec(specifier) ?? [];
  if (name === undefined) return undefined;
  const { exports } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as {
    exports: Record<string, string>;
  };
  const target = exports[path === undefined ? '.' : `./${path}`];
  if (target === undefined)
    throw new Error(`${from} imports ${specifier}, which that package doesn't export`);
  return normalize(join('packages', name, target));
}

/** The entries and all their direct and indirect imports, as sorted paths inside `root`. */
export function reachableFrom(root: string, entries: readonly string[]): string[] {
  const found = new Set(entries);
  // Iterating over a set also visits the elements that are added during the iteration.
  for (const file of found)
    for (const { text } of specifiersOf(file, readFileSync(join(root, file), 'utf8'))) {
      const target = fileOf(root, file, text);
      if (target !== undefined) found.add(target);
    }
  return [...found].sort();
}

/** The modules among these that import one of Node's own. */
export function nodeOnly(root: string, files: readonly string[]): string[] {
  return files.filter((file) =>
    specifiersOf(file, readFileSync(join(root, file), 'utf8')).some(({ text }) => isBuiltin(text)),
  );
}

/** npm's packages that these modules import by name. */
export function listPackages(root: string, files: readonly string[]): Set<string> {
  const names = files
    .flatMap((file) => specifiersOf(file, readFileSync(join(root, file), 'utf8')))
    .filter(({ text }) => !text.startsWith('.') && !text.startsWith('node:') && !text.startsWith('@baton/'))
    .map(({ text }) => text.split('/', text.startsWith('@') ? 2 : 1).join('/'));
  return new Set(names);
}

/**
 * The text of a compiled module in which every import of this repository's packages is a relative path, and every
 * `.ts` that the compiler left in a declaration is `.js`.
 * @param from its path inside the repository, with the ending of its source
 */
export function withRelativeImports(root: string, from: string, text: string): string {
  let result = text;
  const specifiers = specifiersOf(from, text).sort((a, b) => b.start - a.start);
  for (const specifier of specifiers) {
    const target = fileOf(root, from, specifier.text);
    if (target === undefined) continue;
    const path = relative(dirname(from), target).replace(/\.ts$/, '.js');
    const written = path.startsWith('.') ? path : `./${path}`;
    result = `${result.slice(0, specifier.start)}'${written}'${result.slice(specifier.end)}`;
  }
  return result;
}
