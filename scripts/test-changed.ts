import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { StartError } from '@baton/platform/start-error';
import { type Import, readImports } from './layers.ts';

/**
 * Where a service is put together. Almost every file reaches these, and every test starts from them: an import by one of them
 * says nothing about what a change can have touched, unless it is itself the change.
 */
const compositions =
  /^packages\/(?:identity|coordination)\/src\/(?:app\/[^/]+|app\/event-types\/[^/]+|testing\/[^/]+|[^/]+\/errors)\.ts$/;
const isTest = (file: string) => file.endsWith('.test.ts');
/** What is declared to all endpoints is checked over all of them. */
const declarations = /\.(?:api|fixtures|events)\.ts$/;
/** What every test runs on. */
const foundations = /^(?:package(?:-lock)?\.json|toolchain\/|bin\/|tsconfig\.json$|scripts\/test-)/;

/**
 * The files that differ from where this branch left another, committed or not, and new ones.
 * @param since a branch or commit
 * @throws StartError when Git knows no such commit
 */
export function changedFiles(root: string, since: string): string[] {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\n')
      .filter((line) => line !== '');
  try {
    const [base = since] = git('merge-base', since, 'HEAD');
    const differing = git('diff', '--name-only', '--no-renames', base);
    return [...new Set([...differing, ...git('ls-files', '--others', '--exclude-standard')])].sort();
  } catch {
    throw new StartError(`Git knows no ${since} here: name a commit or branch with --since.`);
  }
}

/**
 * Finds the test files that a change can have touched: those that import a changed file, directly or through others, those
 * beside a file that does (tests of a service go over HTTP and import only its start), and those that name a changed file.
 * @param changed paths inside `root`; @param sources all files that people write; @param tests all test files
 */
export function touchedTests(
  root: string,
  changed: readonly string[],
  sources: readonly string[],
  tests: readonly string[],
): string[] {
  if (changed.some((file) => foundations.test(file))) return [...tests];
  const importers = Map.groupBy(edgesOf(root, sources), ({ to }) => to as string);
  const reached = new Set(changed.flatMap((file) => [file, ...standingFor(file)]));
  for (const file of reached) {
    if (compositions.test(file) && !changed.includes(file)) continue;
    for (const { from } of importers.get(file) ?? []) reached.add(from);
  }
  const folders = new Set(
    [...reached].filter((file) => !compositions.test(file) && !isTest(file)).map(dirname),
  );
  const wide = changed.filter((file) => compositions.test(file) && !file.includes('/testing/'));
  return tests.filter(
    (file) =>
      reached.has(file) ||
      folders.has(dirname(file)) ||
      wide.some((one) => serviceOf(one) === serviceOf(file)) ||
      changed.some((one) => !/\.tsx?$/.test(one) && readFileSync(join(root, file), 'utf8').includes(one)),
  );
}

const serviceOf = (file: string) => file.split('/').slice(0, 2).join('/');

/** The files in whose place a changed one is: a migration changes the tables that all of its service uses. */
function standingFor(file: string): string[] {
  const [, service] = /^(packages\/[^/]+)\/migrations\//.exec(file) ?? [];
  if (service !== undefined) return [`${service}/src/service/schema.ts`];
  return declarations.test(file) ? [`${serviceOf(file)}/src/app/matrix.test.ts`] : [];
}

/** A program that a file starts, or reads, by its path: `packages/cli/src/main.ts`, or `./load.worker.ts` beside it. */
const pathForms =
  /['"`]((?:packages|e2e|scripts|bench|examples)\/[\w./-]+\.tsx?|\.{1,2}\/[\w./-]+\.(?:main|worker)\.ts)['"`]/g;

function edgesOf(root: string, files: readonly string[]): Import[] {
  const named = files.flatMap((from) =>
    [...readFileSync(join(root, from), 'utf8').matchAll(pathForms)].map(([, specifier = '']) => {
      const to = specifier.startsWith('.') ? normalize(join(dirname(from), specifier)) : specifier;
      return { from, specifier, to };
    }),
  );
  return [...readImports(root, files).filter(({ to }) => to !== undefined), ...named];
}
