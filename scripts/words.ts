// npm run check -- words: rejects the words of a list in prose and in user-visible texts. node bin/run.mjs
// scripts/words.ts [PATH ...]: prints the lines of those files, tests included, that contain such a word. node
// bin/run.mjs scripts/words.ts --shrink: lowers the counts in scripts/words.allow.json to those that remain.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lineAt } from './docs/references.ts';
import { checkoutTree, type Tree } from './links.ts';
import { findProse } from './words/prose.ts';
import { refusedWords } from './words/word-list.ts';

const allowListFile = 'scripts/words.allow.json';
/** In a comment, the words of a phrase may be on two lines. */
const forms = refusedWords.map(({ form }) => form.replaceAll(' ', '(?:\\s|\\*)+'));
const word = new RegExp(forms.map((form, index) => `(?<_${index}>\\b(?:${form})\\b)`).join('|'), 'gi');

/** The checks, by path prefix; the longest matching prefix applies. */
const scopes: Readonly<Record<string, 'everything' | 'without tests' | 'nothing'>> = {
  '': 'everything',
  'e2e/': 'everything',
  'packages/': 'everything',
  // Texts that are generated from checked sources.
  'openapi/': 'nothing',
  'e2e/generated/': 'nothing',
  // Released files that are compared by checksum.
  'packages/coordination/migrations/': 'nothing',
  'packages/identity/migrations/': 'nothing',
  // Backlogs of other trackers, which tests import.
  'packages/cli/src/import/testing/': 'nothing',
  // Files that contain the rejected words themselves, as data.
  'scripts/words': 'nothing',
};

/** The counts per file that remain allowed. They may only shrink. */
export type AllowedCounts = Readonly<Record<string, number>>;

/**
 * Compares the files of a repository with the counts that are allowed.
 * @returns one line per word that a file contains more often than its count, and per count that is too high
 */
export function checkWords(tree: Tree, allowed: AllowedCounts = readAllowed(tree)): string[] {
  const counted = new Map(tree.files.filter(isChecked).map((file) => [file, findRefusedWords(tree, file)]));
  const tooMany = [...counted].filter(([file, found]) => found.length > (allowed[file] ?? 0));
  const tooHigh = Object.entries(allowed).filter(([file, count]) => count > (counted.get(file)?.length ?? 0));
  return [
    ...tooMany.flatMap(([, found]) => found),
    ...tooHigh.map(([file, count]) => {
      const left = counted.get(file)?.length ?? 0;
      return `${allowListFile}: ${file} has ${left} refused words instead of ${count}: run node bin/run.mjs scripts/words.ts --shrink`;
    }),
  ];
}

/** Finds the rejected words in one file. Returns one line per word, with its replacement. */
export function findRefusedWords(tree: Tree, file: string): string[] {
  const text = tree.read(file);
  if (isGenerated(text)) return [];
  return findProse(file, text).flatMap((prose) =>
    [...prose.text.matchAll(word)].map(({ 0: found, index, groups = {} }) => {
      const kind = Object.values(groups).findIndex((group) => group !== undefined);
      return `${file}:${lineAt(text, prose.start + index)} "${found.replace(/[\s*]+/g, ' ')}": write ${refusedWords[kind]?.use}`;
    }),
  );
}

function isChecked(file: string): boolean {
  const [scope] = Object.entries(scopes)
    .filter(([path]) => file.startsWith(path))
    .sort(([one], [other]) => other.length - one.length)
    .map(([, what]) => what);
  return scope === 'everything' || (scope === 'without tests' && !isTest(file));
}

const isTest = (file: string) => /\.test\.tsx?$|\/testing\/|^e2e\//.test(file);

/** Generated files say so on their first line. */
const isGenerated = (text: string) => /^.{0,9}GENERATED\b/.test(text);

function readAllowed(tree: Tree): AllowedCounts {
  return tree.files.includes(allowListFile) ? (JSON.parse(tree.read(allowListFile)) as AllowedCounts) : {};
}

function shrinkAllowed(root: string, tree: Tree): void {
  const lower = Object.entries(readAllowed(tree))
    .map(([file, count]): [string, number] => {
      const left = tree.files.includes(file) ? findRefusedWords(tree, file).length : 0;
      return [file, Math.min(count, left)];
    })
    .filter(([, count]) => count > 0);
  writeFileSync(join(root, allowListFile), `${JSON.stringify(Object.fromEntries(lower), null, 2)}\n`);
}

if (import.meta.filename === process.argv[1]) {
  const root = dirname(import.meta.dirname);
  const tree = checkoutTree(root);
  const [first = '', ...more] = process.argv.slice(2);
  if (first === '--shrink') shrinkAllowed(root, tree);
  else {
    const found = tree.files
      .filter((file) => isChecked(file) && [first, ...more].some((path) => file.startsWith(path)))
      .flatMap((file) => findRefusedWords(tree, file));
    for (const line of found) console.log(line);
    console.log(`${found.length} refused words`);
  }
}
