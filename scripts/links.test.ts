import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { describe, test } from 'node:test';
import { headingsOf } from './docs/headings.ts';
import { checkoutTree, findDeadLinks } from './links.ts';

const root = dirname(import.meta.dirname);

/** The dead links of a `README.md` with this text, together with a few other files. */
const deadIn = (text: string) => deadOf({ 'README.md': text });

function deadOf(texts: Readonly<Record<string, string>>): string[] {
  const all: Readonly<Record<string, string>> = {
    'docs/claims.md': '# Claims\n\n## Fencing\n\n## Limits\n\n## Limits\n\n<a id="kept"></a>\n',
    'src/claim.ts': 'export const claim = 1;\n',
    ...texts,
  };
  return findDeadLinks({ files: Object.keys(all), read: (file) => all[file] ?? assert.fail(file) });
}

const anchorsIn = (markdown: string) => headingsOf(markdown).map(({ anchor }) => anchor);

test('the check reads the pages and the sources of the checkout', () => {
  const { files, read } = checkoutTree(root);
  for (const file of ['README.md', 'docs/operations.md', 'scripts/links.ts'])
    assert.ok(files.includes(file), file);
  assert.ok(!files.some((file) => file.includes('node_modules/')));
  assert.ok(read('README.md').startsWith('# Baton\n'));
});

describe('a link', () => {
  for (const [what, text] of [
    ['page', '[x](docs/claims.md)'],
    ['heading', '[x](docs/claims.md#fencing)'],
    ['second heading of the same name', '[x](docs/claims.md#limits-1)'],
    ['element with an id', '[x](docs/claims.md#kept)'],
    ['heading of its own page', '# Run it\n\n[x](#run-it)'],
    ['folder', '[x](docs) and [x](docs/)'],
    ['source', '[x](src/claim.ts) and [x](src/claim.ts#L1)'],
    ['site, whatever it holds', '[x](https://example.com/dead.md#dead) [x](mailto:a@example.com)'],
  ] as const)
    test(`to a ${what} is right`, () => assert.deepEqual(deadIn(text), []));

  for (const [what, text, problem] of [
    ['missing page', '[x](docs/dead.md)', 'docs/dead.md names no file of the repository'],
    ['missing heading', '[x](docs/claims.md#dead)', 'docs/claims.md#dead names no heading of docs/claims.md'],
    ['missing heading of its own page', '[x](#dead)', '#dead names no heading of README.md'],
    [
      'third heading of two',
      '[x](docs/claims.md#limits-2)',
      'docs/claims.md#limits-2 names no heading of docs/claims.md',
    ],
    ['missing image', '![x](docs/dead.png)', 'docs/dead.png names no file of the repository'],
    ['page in other letters', '[x](docs/Claims.md)', 'docs/Claims.md names no file of the repository'],
    ['path outside', '[x](../dead.md)', '../dead.md leads out of the repository'],
    [
      'path from the root',
      '[x](/docs/claims.md)',
      '/docs/claims.md starts with a slash: link by a relative path',
    ],
    [
      'heading of a folder',
      '[x](docs#fencing)',
      'docs#fencing names a heading of a folder: link to the page in it',
    ],
    ['heading of a source', '[x](src/claim.ts#claim)', 'src/claim.ts#claim names a heading of no page'],
    ['missing page by a definition', '[x]: docs/dead.md', 'docs/dead.md names no file of the repository'],
    [
      'missing page by an element',
      '<a href="docs/dead.md">x</a>',
      'docs/dead.md names no file of the repository',
    ],
    [
      'missing page with a title',
      '[x](docs/dead.md "The page")',
      'docs/dead.md names no file of the repository',
    ],
  ] as const)
    test(`to a ${what} is dead`, () => {
      assert.deepEqual(deadIn(`Text.\n\n${text}`), [`README.md:3 ${problem}`]);
    });

  test('in code or in a comment is none', () => {
    const code = ['```md', '[x](dead.md)', '# Dead', '```', '`[x](dead.md)`', '<!-- [x](dead.md) -->'];
    assert.deepEqual(deadIn(code.join('\n')), []);
    assert.deepEqual(deadIn('~~~\n```\n~~~\n[x](dead.md)'), [
      'README.md:4 dead.md names no file of the repository',
    ]);
  });
});

describe('a pointer in a comment or a message', () => {
  const inSource = (text: string) => deadOf({ 'src/claim.ts': text });

  test('to a page or a heading is right', () => {
    assert.deepEqual(inSource('// see docs/claims.md#fencing, and docs/claims.md.\n'), []);
    assert.deepEqual(inSource("fail('Documented at docs/claims.md#limits-1.');\n"), []);
  });

  test('to a missing page or heading is dead', () => {
    assert.deepEqual(inSource('// Why:\n// see docs/dead.md#fencing\n/** docs/claims.md#dead */\n'), [
      'src/claim.ts:2 docs/dead.md#fencing names no file of the repository',
      'src/claim.ts:3 docs/claims.md#dead names no heading of docs/claims.md',
    ]);
    assert.deepEqual(inSource('// CONTRIBUTING.md explains it\n'), [
      'src/claim.ts:1 CONTRIBUTING.md names no file of the repository',
    ]);
  });

  test('also in the text of a page', () => {
    assert.deepEqual(deadIn('Read `docs/dead.md`.'), [
      'README.md:1 docs/dead.md names no file of the repository',
    ]);
  });

  test('to a page next to the file is valid, and other names that end in .md are not pointers', () => {
    assert.deepEqual(
      deadOf({ 'examples/agent/README.md': '', 'examples/agent/run.sh': '# README.md\n' }),
      [],
    );
    assert.deepEqual(
      inSource("const pages = ['notes.md', '/docs/dead.md', 'https://a.example/docs/dead.md'];\n"),
      [],
    );
  });
});

describe('an anchor', () => {
  for (const [heading, anchor] of [
    ['Rotate the signing key', 'rotate-the-signing-key'],
    ['`stale_claim` (409)', 'stale_claim-409'],
    ['Why *not* __now__, [here](x.md)?', 'why-not-now-here'],
    ['baton task relate REF TYPE OTHER', 'baton-task-relate-ref-type-other'],
    ['Names & addresses', 'names--addresses'],
    ['Läuft über 30 %', 'läuft-über-30-'],
    ['snake_case stays, `<id>` too', 'snake_case-stays-id-too'],
    ['Closed ##', 'closed'],
  ] as const)
    test(`of "${heading}" is the one of GitHub`, () =>
      assert.deepEqual(anchorsIn(`## ${heading}`), [anchor]));

  test('is numbered if a heading repeats, and if the number is a heading too', () => {
    assert.deepEqual(anchorsIn('# A\n## A\n## A 1\n## A\n'), ['a', 'a-1', 'a-1-1', 'a-2']);
  });

  test('belongs to an underlined heading too', () => {
    assert.deepEqual(anchorsIn('Title\n=====\n\nPart one\n---\n\nText\n\n---\n'), ['title', 'part-one']);
  });
});
