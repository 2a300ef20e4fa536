import { cp, mkdir, mkdtemp, readdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export const repository = dirname(dirname(import.meta.dirname));

const configured = [
  'package.json',
  'knip.json',
  'biome.json',
  '.oxlintrc.json',
  'tsconfig.json',
  '.gitignore',
];

/**
 * Copies the work tree, without its tests, into a folder that the caller removes.
 * @param folders the folders to copy; in the copy, the packages `@baton/*` are the copied ones, all others the
 * installed ones
 */
export async function copyWorkTree(folders: readonly string[]): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'baton-work-tree-'));
  for (const name of [...folders, ...configured])
    await cp(join(repository, name), join(root, name), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts'),
    });
  const modules = join(repository, 'node_modules');
  await mkdir(join(root, 'node_modules', '@baton'), { recursive: true });
  for (const name of await readdir(modules))
    if (name !== '@baton') await symlink(join(modules, name), join(root, 'node_modules', name));
  for (const name of await readdir(join(modules, '@baton')))
    await symlink(join(root, 'packages', name), join(root, 'node_modules', '@baton', name));
  return root;
}
