import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const pageName = 'SECURITY.md';

/**
 * Checks that each promise of the security page lists its tests in the table at the page's end, and that these tests
 * exist. In the name of a test, `…` is a part that the test fills in.
 * @param root of the repository, to which the links of the page
 * are relative @param page its text, if it is not the one in the repository
 * @returns one line per problem
 */
export function untestedPromises(root: string, page = readFileSync(join(root, pageName), 'utf8')): string[] {
  const items = sectionOf(page, 'What Baton promises').match(/^- .*$/gm) ?? [];
  const promises = items.map((item) => /^- \*\*(.+?)\.?\*\*/.exec(item)?.[1] ?? item);
  const rows = [...sectionOf(page, 'The tests of the promises').matchAll(/^\| ([^|]+?) \|(.*)\|$/gm)]
    .map(([, promise = '', rest = '']) => ({ promise, tests: testsIn(rest) }))
    .filter(({ promise }) => promise !== 'Promise' && promise !== '---');
  const tested = new Set(rows.map(({ promise }) => promise));
  return [
    ...(promises.length === 0 ? [`${pageName} has no promises where they are expected`] : []),
    ...promises.filter((promise) => !tested.has(promise)).map((promise) => `"${promise}" names no test`),
    ...[...tested]
      .filter((name) => !promises.includes(name))
      .map((name) => `"${name}" has tests and is no promise`),
    ...rows
      .filter(({ tests }) => tests.length === 0)
      .map(({ promise }) => `a line of "${promise}" names no test`),
    ...rows.flatMap(({ tests }) => tests.flatMap((test) => missing(root, test))),
  ].map((problem) => `${pageName}: ${problem}`);
}

function sectionOf(page: string, title: string): string {
  return page.split(/^## /m).find((section) => section.startsWith(`${title}\n`)) ?? '';
}

interface NamedTest {
  readonly file: string;
  readonly names: readonly string[];
}

/** Each link to a file, with the quoted test names between that link and the next one. */
function testsIn(text: string): NamedTest[] {
  return [...text.matchAll(/\]\(([^)]+)\)([^[]*)/g)].map(([, file = '', names = '']) => ({
    file,
    names: [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
  }));
}

function missing(root: string, { file, names }: NamedTest): string[] {
  if (!file.endsWith('.test.ts') || !existsSync(join(root, file))) return [`there is no test file ${file}`];
  const found = namesIn(readFileSync(join(root, file), 'utf8'));
  return names.filter((name) => !found.has(name)).map((name) => `${file} has no test "${name}"`);
}

/** The names of the tests in a file, except those that are skipped or in a comment. */
function namesIn(text: string): Set<string> {
  const calls = text.matchAll(
    /^ *(?:await )?(?:test|longTest|describe|describeLong|register)\(\s*(['"`])(.*?)(?<!\\)\1/gms,
  );
  return new Set(
    [...calls].map(([, , name = '']) => name.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll(/\\(.)/g, '$1')),
  );
}
