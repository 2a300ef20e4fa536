import type { Tree } from './links.ts';

const page = 'ARCHITECTURE.md';
/** For services, the map also lists the features of each layer. */
const services = ['identity', 'coordination'];

/**
 * Compares the code map of ARCHITECTURE.md with the tree: each folder of the map exists, and the map has each folder of
 * the repository, each package, each folder of a package's source, and each feature of a service's layers.
 */
export function findMapFaults(tree: Tree): string[] {
  const folders = foldersOf(tree.files);
  const named = new Set<string>();
  const unknown: string[] = [];
  for (const { path, mentions } of entriesOf(tree.read(page))) {
    if (folders.has(path)) for (const folder of foldersOf([`${path}/`])) named.add(folder);
    else unknown.push(path);
    for (const mention of mentions) {
      const found = [`${path}/${mention}`, `${path}/src/${mention}`].find((folder) => folders.has(folder));
      if (found === undefined) unknown.push(`${path}/${mention}`);
      else named.add(found);
    }
  }
  const missing = [...folders].filter((folder) => isMapped(folder) && !named.has(folder)).sort();
  return [
    ...unknown.map((folder) => `${page}: the code map names ${folder}/, which does not exist`),
    ...missing.map((folder) => `${page}: the code map lacks ${folder}/: describe it in a few words`),
  ];
}

function foldersOf(files: readonly string[]): Set<string> {
  const folders = new Set<string>();
  for (const file of files)
    for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1))
      folders.add(file.slice(0, end));
  return folders;
}

function isMapped(folder: string): boolean {
  const [top = '', pack = '', src, ...below] = folder.split('/');
  if (folder.startsWith('.') || below.includes('testing')) return false;
  if (top !== 'packages' || pack === '') return pack === '';
  if (src === undefined) return true;
  const depth = services.includes(pack) ? 2 : 1;
  return src === 'src' && below.length > 0 && below.length <= depth;
}

interface Entry {
  readonly path: string;
  /** The subfolders that the entry's description mentions: words that end with a slash. */
  readonly mentions: string[];
}

/** The entries of the map, which is drawn as a tree: `├── kernel/  what it holds`, four characters for each level. */
function entriesOf(text: string): Entry[] {
  const [, map = ''] = /^## Code map\n[\s\S]*?^```\n([\s\S]*?)^```$/m.exec(text) ?? [];
  const entries: Entry[] = [];
  const above: string[] = [];
  for (const line of map.split('\n')) {
    const [, branches = '', name, described = ''] =
      /^((?:[│ ] {3})*(?:[├└]── )?)([\w.-]+(?:\/[\w.-]+)*)\/(?:\s+(.*))?$/.exec(line) ?? [];
    const isEntry = name !== undefined && (branches === '' || branches.endsWith('── '));
    if (isEntry) {
      above.length = branches.length / 4;
      above.push(name);
      entries.push({ path: above.join('/'), mentions: mentionsIn(described) });
    } else entries.at(-1)?.mentions.push(...mentionsIn(line));
  }
  return entries;
}

function mentionsIn(text: string): string[] {
  return [...text.matchAll(/(?<![\w/.{-])([a-z][\w-]*)\/(?![\w{])/g)].map(([, name = '']) => name);
}
