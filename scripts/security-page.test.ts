import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { untestedPromises } from './security-page.ts';

const root = dirname(import.meta.dirname);
const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');

/** Returns the problems that a replacement in the page causes. */
function problemsAfter(text: string | RegExp, other: string): string[] {
  const planted = page.replace(text, other);
  assert.notEqual(planted, page, `${text} is in the page`);
  return untestedPromises(root, planted);
}

test('every promise of the security page lists existing tests', () => {
  assert.deepEqual(untestedPromises(root), []);
});

test('a promise without a test is found, and so are tests without a promise', () => {
  assert.deepEqual(
    problemsAfter('\n## What Baton does not', '- **Zebras** are striped.\n\n## What Baton does not'),
    ['SECURITY.md: "Zebras" names no test'],
  );
  assert.deepEqual(problemsAfter(/^- \*\*Journal\.\*\*/m, '- **Diary.**'), [
    'SECURITY.md: "Diary" names no test',
    'SECURITY.md: "Journal" has tests and is no promise',
  ]);
  assert.deepEqual(problemsAfter(/^\| Journal \|.*$/m, '| Journal | we believe so | |'), [
    'SECURITY.md: a line of "Journal" names no test',
  ]);
  assert.deepEqual(problemsAfter('## What Baton promises', '## Promises').slice(0, 1), [
    'SECURITY.md: SECURITY.md has no promises where they are expected',
  ]);
});

const file = 'scripts/security-page.test.ts';

for (const [what, link, problems] of [
  ['removed file', '[x](scripts/zebra.test.ts)', ['there is no test file scripts/zebra.test.ts']],
  ['file that holds no tests', '[x](scripts/markdown.ts)', ['there is no test file scripts/markdown.ts']],
  ['removed test', `[x](${file}) "a zebra is striped"`, [`${file} has no test "a zebra is striped"`]],
  ['test that is commented out', `[x](${file}) "a lion roars"`, [`${file} has no test "a lion roars"`]],
  ['test whose name has a part filled in', `[x](${file}) "a … that is named is checked"`, []],
] as const)
  test(`a ${what} that is named is checked`, () => {
    assert.deepEqual(
      problemsAfter(/^\| Journal \|.*$/m, `| Journal | planted | ${link} |`),
      problems.map((problem) => `SECURITY.md: ${problem}`),
    );
  });

// test('a lion roars', () => undefined);
