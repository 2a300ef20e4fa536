// npm run build [-- FOLDER]: builds the packages that users install, as baton-VERSION.tgz and baton-sdk-VERSION.tgz in
// dist/.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { packBaton, packSdk } from './packing/packages.ts';
import { tarball } from './packing/tarball.ts';

const root = dirname(import.meta.dirname);

/**
 * Writes both tarballs.
 * @param folder is created if it doesn't exist
 * @returns their paths
 */
export function build(folder: string): { readonly baton: string; readonly sdk: string } {
  mkdirSync(folder, { recursive: true });
  const [baton, sdk] = [packBaton(root), packSdk(root)].map(({ tarball: name, version, files }) => {
    const path = join(folder, `${name}-${version}.tgz`);
    writeFileSync(path, tarball(files));
    return path;
  }) as [string, string];
  return { baton, sdk };
}

if (import.meta.filename === process.argv[1])
  for (const path of Object.values(build(resolve(process.argv[2] ?? join(root, 'dist'))))) console.log(path);
