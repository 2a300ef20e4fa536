import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { StartError } from '@baton/platform/start-error';
import { type Import, readImports } from './layers.ts';

/**
 * Files that compose a service. They import almost every file, and every test imports them. The search therefore does
 * not follow imports through them, unless one of them has changed itself.
 */
const compositions =
  /^packages\/(?:identity|coordination)\/src\/(?:app\/[^/]+|app\/event-types\/[^/]+|testing\/[^/]+|[^/]+\/errors)\.ts$/;
const isTest = (file: string) => file.endsWith('.test.ts');
/** Files whose declarations the matrix test checks for all endpoints. */
const declarations = /\.(?:api|fixtures|events)\.ts$/;
/** Files on which every test depends. */
const foundations = /^(?:package(?:-lock)?\.json|toolchain\/|bin\/|tsconfig\.json$|scripts\/test-)/;

/**
 * Returns the files that changed since the merge base with `since`: committed, uncommitted and untracked ones.
 * @param since a branch or commit
 * @throws StartError if Git finds no such commit
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
 * Finds the test files that a change can affect: files that import a changed file, directly or indirectly, files in the
 * same folder as such a file (service tests use HTTP and import only its start), and files that contain a changed
 * file's path.
 * @param changed paths inside `root`; @param sources all source files; @param tests all test files
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
  const whole = new Set(
    changed.filter((file) => compositions.test(file) && !file.includes('/testing/')).map(packageOf),
  );
  for (const file of reached) {
    if (compositions.test(file) && !changed.includes(file)) continue;
    for (const { from } of importers.get(file) ?? []) {
      reached.add(from);
      // An import of a service from another package, such as the kernel, affects all of its features.
      if (compositions.test(from) && packageOf(from) !== packageOf(file)) whole.add(packageOf(from));
    }
  }
  const folders = new Set(
    [...reached].filter((file) => !compositions.test(file) && !isTest(file)).map(dirname),
  );
  return tests.filter(
    (file) =>
      reached.has(file) ||
      folders.has(dirname(file)) ||
      whole.has(packageOf(file)) ||
      changed.some((one) => !/\.tsx?$/.test(one) && names(readFileSync(join(root, file), 'utf8'), one)),
  );
}

const packageOf = (file: string) => file.split('/').slice(0, 2).join('/');

/**
 * Whether a text refers to a file: by its path, by its path without the first folder, or by its first two folders as
 * arguments of `join`.
 */
function names(text: string, file: string): boolean {
  const [first, second, ...rest] = file.split('/');
  if (second === undefined) return text.includes(file);
  const forms = [file, [second, ...rest].join('/'), ...(rest.length > 0 ? [`'${first}', '${second}'`] : [])];
  return forms.some((form) => text.includes(form));
}

/** Returns files that count as changed too: a migration changes the tables that the whole service uses. */
function standingFor(file: string): string[] {
  const [, service] = /^(packages\/[^/]+)\/migrations\//.exec(file) ?? [];
  if (service !== undefined) return [`${service}/src/service/schema.ts`];
  return declarations.test(file) ? [`${packageOf(file)}/src/app/matrix.test.ts`] : [];
}

/**
 * A path of a file that another one starts or reads: `packages/cli/src/main.ts`, or `./load.worker.ts` in its folder.
 */
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
