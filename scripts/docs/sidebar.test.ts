import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { checkoutTree, type Tree } from '../links.ts';
import { pagesOf } from './pages.ts';
import { type Section, sectionsOf, sidebarItems, sidebarProblems } from './sidebar.ts';

const root = dirname(dirname(import.meta.dirname));

/** A tree that contains these files. */
const treeOf = (texts: Readonly<Record<string, string>>): Tree => ({
  files: Object.keys(texts),
  read: (file) => texts[file] ?? assert.fail(file),
});

test('every page of the repository is in one section of the sidebar', () => {
  const tree = checkoutTree(root);
  assert.deepEqual(sidebarProblems(sectionsOf(tree), pagesOf(tree)), []);
});

test('a page in no section, a page in two and a section with a missing page are found', () => {
  const pages = ['README.md', 'docs/new.md', 'docs/decisions/0001-new.md'].map((file) => ({ file }));
  const below: Section = { label: 'Below', entries: ['docs/dead.md', 'README.md'] };
  const sections: Section[] = [
    { label: 'Start', entries: [{ file: 'README.md', label: 'Quick start' }, below] },
  ];
  assert.deepEqual(sidebarProblems(sections, pages), [
    'docs/new.md is in no section of the sidebar: add it to scripts/docs/sidebar.ts',
    'docs/decisions/0001-new.md is not listed in docs/decisions/README.md',
    'docs/dead.md is in the sidebar and no page',
    'README.md is in the sidebar twice',
  ]);
});

test('the sections of the decisions are those of their index', () => {
  const index =
    '# Decisions\n\n## Identity\n\n- [0101](0101-a.md) A\n\n## Later\n\n- [0201](0201-b.md) B\n- [x](../x.md)\n';
  const decisions = sectionsOf(treeOf({ 'docs/decisions/README.md': index })).at(-1);
  assert.deepEqual(decisions?.entries, [
    { file: 'docs/decisions/README.md', label: 'All decisions' },
    { label: 'Identity', collapsed: true, entries: ['docs/decisions/0101-a.md'] },
    { label: 'Later', collapsed: true, entries: ['docs/decisions/0201-b.md'] },
  ]);
});

test('an entry has its label, or otherwise the title of its page', () => {
  const pages = pagesOf(treeOf({ 'README.md': '# Baton\n', 'docs/errors.md': '# Errors\n' }));
  const entries = [
    'docs/errors.md',
    { label: 'Start', entries: [{ file: 'README.md', label: 'Quick start' }] },
  ];
  assert.deepEqual(sidebarItems(entries, pages), [
    { label: 'Errors', link: '/errors/' },
    { label: 'Start', collapsed: false, items: [{ label: 'Quick start', link: '/' }] },
  ]);
});
