import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface LockEntry {
  readonly version?: string;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

type Lock = Readonly<Record<string, LockEntry>>;

/** The entries of the lockfile by their paths. */
export function readLock(root: string): Lock {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Lock;
  };
  return packages;
}

/**
 * The part of the lockfile that these packages need, directly or indirectly, as the `packages` of a lockfile.
 * @param names of npm packages
 * @throws Error for one that the lockfile doesn't have
 */
export function lockedParts(lock: Lock, names: readonly string[]): Record<string, LockEntry> {
  const paths = new Set(names.map((name) => `node_modules/${name}`));
  for (const path of paths) {
    const entry = lock[path];
    if (entry === undefined) throw new Error(`${path} is not in package-lock.json`);
    for (const name of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) {
      const found = placeOf(lock, path, name);
      if (found !== undefined) paths.add(found);
      else if (entry.optionalDependencies?.[name] === undefined)
        throw new Error(`${name}, which ${path} needs, is not in package-lock.json`);
    }
  }
  const entries = [...paths].sort().map((path) => {
    // The reason for this flag in the repository's lockfile doesn't apply to the tarball.
    const { dev: _dev, devOptional: _devOptional, ...entry } = lock[path] as LockEntry;
    return [path, entry] as const;
  });
  return Object.fromEntries(entries);
}

/** The path at which Node finds `name` from the package at `path`: in its own node_modules, or in a parent's. */
function placeOf(lock: Lock, path: string, name: string): string | undefined {
  for (let folder = path; ; folder = folder.slice(0, folder.lastIndexOf('/node_modules/'))) {
    const place = `${folder}/node_modules/${name}`;
    if (lock[place] !== undefined) return place;
    if (!folder.includes('/node_modules/')) break;
  }
  return lock[`node_modules/${name}`] === undefined ? undefined : `node_modules/${name}`;
}
