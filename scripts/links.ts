// node scripts/links.ts: checks that every link and pointer to a page of the repository has a target.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join, normalize } from 'node:path';
import { anchorsOf } from './docs/headings.ts';
import { isExternal, lineAt, referencesOf } from './docs/references.ts';

/** Files that may point to pages: in comments, messages and descriptions. */
const pointing = new Set(['.ts', '.tsx', '.mjs', '.sql', '.css', '.sh', '.py', '.yaml', '.yml', '.md']);
/**
 * Files with dead links that are not checked: backlogs of other trackers, which tests import, and the tests of this
 * check and of the site.
 */
const isTestInput = (file: string) =>
  file.startsWith('packages/cli/src/import/testing/') || /^scripts\/(?:links|docs\/.*)\.test\.ts$/.test(file);

/** A page in a comment, given by its path from the root: `docs/reference/claims.md#fencing`. */
const pointerForm =
  /(?<![\w/.@-])(?<path>(?:(?:docs|examples)\/[\w./-]+|packages\/[\w-]+\/README|README|ARCHITECTURE|CHANGELOG|CONTRIBUTING|SECURITY)\.md)(?:#(?<anchor>[\w-]+))?/g;

/** The files of a repository, by their paths from its root. */
export interface Tree {
  readonly files: readonly string[];
  read(file: string): string;
}

/**
 * Checks the links of all pages in Markdown, and the pointers to pages in comments and messages.
 * @returns one line per link without a file or heading
 */
export function findDeadLinks(tree: Tree): string[] {
  const folders = new Set(tree.files.flatMap(foldersAbove));
  const known = { files: new Set(tree.files), folders, anchors: anchorCache(tree) };
  return tree.files
    .filter((file) => pointing.has(extname(file)) && !isTestInput(file))
    .flatMap((file) => {
      const text = tree.read(file);
      const links = file.endsWith('.md') ? deadReferences(known, file, text) : [];
      return [...links, ...deadPointers(known, file, text)];
    });
}

interface Known {
  readonly files: ReadonlySet<string>;
  readonly folders: ReadonlySet<string>;
  /** Returns the anchors of a page. */
  anchors(page: string): ReadonlySet<string>;
}

function deadReferences(known: Known, file: string, text: string): string[] {
  return referencesOf(text)
    .filter(({ target }) => !isExternal(target))
    .flatMap(({ target, line }) => {
      const [path, anchor] = decoded(target).split('#') as [string, string?];
      const reason = path.startsWith('/')
        ? 'starts with a slash: link by a relative path'
        : reasonOf(known, path === '' ? file : normalize(join(dirname(file), path)), anchor);
      return reason === undefined ? [] : [`${file}:${line} ${target} ${reason}`];
    });
}

/**
 * A pointer may also be relative to the file that contains it. Links are skipped here, because they have already been
 * checked.
 */
function deadPointers(known: Known, file: string, text: string): string[] {
  const links = file.endsWith('.md') ? referencesOf(text) : [];
  const isLink = (index: number) =>
    links.some(({ start, target }) => start <= index && index < start + target.length);
  return [...text.matchAll(pointerForm)]
    .filter(({ index }) => !isLink(index))
    .flatMap(({ 0: pointer, index, groups: { path = '', anchor } = {} }) => {
      const beside = normalize(join(dirname(file), path));
      const page = known.files.has(path) || !known.files.has(beside) ? path : beside;
      const reason = reasonOf(known, page, anchor);
      return reason === undefined ? [] : [`${file}:${lineAt(text, index)} ${pointer} ${reason}`];
    });
}

/** The reason why a reference is dead, or undefined. */
function reasonOf(known: Known, path: string, anchor: string | undefined): string | undefined {
  if (path.startsWith('..')) return 'leads out of the repository';
  const plain = path.replace(/\/$/, '');
  if (!known.files.has(plain)) {
    if (plain !== '.' && !known.folders.has(plain)) return 'names no file of the repository';
    return anchor === undefined ? undefined : 'names a heading of a folder: link to the page in it';
  }
  if (anchor === undefined) return undefined;
  if (!plain.endsWith('.md'))
    return /^L\d+(?:-L\d+)?$/.test(anchor) ? undefined : 'names a heading of no page';
  return known.anchors(plain).has(anchor) ? undefined : `names no heading of ${plain}`;
}

/** A malformed percent escape is left as it is. */
function decoded(target: string): string {
  try {
    return decodeURI(target);
  } catch {
    return target;
  }
}

function anchorCache(tree: Tree): Known['anchors'] {
  const cache = new Map<string, ReadonlySet<string>>();
  return (page) => {
    const anchors = cache.get(page) ?? anchorsOf(tree.read(page));
    cache.set(page, anchors);
    return anchors;
  };
}

function foldersAbove(file: string): string[] {
  const names = dirname(file).split('/');
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

/** Returns the files of a checkout that Git tracks or would add. */
export function checkoutTree(root: string): Tree {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const listed = execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1e8 }).split('\0');
  const files = [...new Set(listed)].filter((file) => file !== '' && existsSync(join(root, file))).sort();
  return { files, read: (file) => readFileSync(join(root, file), 'utf8') };
}

if (import.meta.filename === process.argv[1]) {
  const dead = findDeadLinks(checkoutTree(dirname(import.meta.dirname)));
  for (const line of dead) console.log(line);
  process.exitCode = dead.length === 0 ? 0 : 1;
}
