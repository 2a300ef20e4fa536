// npm test [-- part of a file's path ...] [-- --shard=1/2] [-- --record] [-- --declared PATH]: checks the code, then runs
// every test against one throw-away PostgreSQL. A shard is one of several runs that share the test files; --record keeps
// what each took; --declared names what the endpoints whose path begins with PATH declare and these tests don't produce.
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { StartError } from '@baton/platform/start-error';
import { check } from './check.ts';
import { prepareEnvironment } from './test-environment.ts';
import { groupFiles, parseShard, type Shard, writeRecord } from './test-order.ts';
import { runTests } from './test-run.ts';

const root = dirname(import.meta.dirname);
const testFiles = ['packages/*/src', 'e2e', 'bench', 'scripts'].map((folder) => `${folder}/**/*.test.ts`);

interface Options {
  /** Parts of paths; empty for all files. */
  readonly patterns: readonly string[];
  readonly shard: Shard;
  readonly isRecorded: boolean;
  /** Beginnings of paths of endpoints, as `/packages`; a whole run judges all. */
  readonly declared: readonly string[];
}

async function main({ patterns, shard, isRecorded, declared }: Options): Promise<number> {
  const isWhole = patterns.length === 0 && shard.total === 1;
  // Of several shards one checks the code.
  const isClean = patterns.length > 0 || shard.index > 1 || (await check());
  const groups = groupFiles(root, findFiles(patterns), shard);
  if (groups.length === 0) {
    const named = patterns.length === 0 ? '' : ` whose path contains ${patterns.join(' or ')}`;
    console.error(`There is no test file${named} in shard ${shard.index} of ${shard.total}.`);
    return 1;
  }
  const environment = await prepareEnvironment();
  // The first Ctrl-C ends the tests and cleans up; npm may pass it on more than once.
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort());
  try {
    const {
      passed,
      failed,
      failures: failedTests,
      skipped,
      seconds,
    } = await runTests(root, groups, abort.signal);
    const isEnded = isWhole && !abort.signal.aborted;
    const isComplete = isEnded && failed === 0;
    const undeclared =
      isEnded || declared.length > 0
        ? (await truthProblems(environment.truthDirectory)).filter(
            (line) => isEnded || isAbout(line, declared),
          )
        : [];
    for (const problem of undeclared) console.log(`✘ truth: ${problem}`);
    if (undeclared.length > 0 && failed > 0)
      console.log('Tests failed, so what none produced may be what they would have produced.');
    const leaks = abort.signal.aborted ? 0 : await searchLeaks(environment.leakDirectory, isComplete);
    if (skipped.length > 0)
      console.log(`\nSKIPPED, NOT TESTED:\n${skipped.map((name) => `  ${name}`).join('\n')}`);
    if (!isClean) console.log('\nThe checks at the top found something.');
    if (abort.signal.aborted) console.log('\nStopped before the end.');
    if (shard.total > 1)
      console.log('\nOnly a run of all tests can say which declared errors no test produces.');
    if (isComplete && isRecorded) writeRecord(seconds);
    // Once more, where a person looks first: the lines of the files may be thousands above.
    if (failedTests.length > 0)
      console.log(`\nFAILED:\n${failedTests.map((failure) => `  ✘ ${failure}`).join('\n')}`);
    const failures = failed + undeclared.length + leaks;
    console.log(`\n${timesOf(seconds)}\n${passed} passed, ${failures} failed, ${skipped.length} skipped`);
    return failures === 0 && isClean && passed > 0 && !abort.signal.aborted ? 0 : 1;
  } finally {
    await environment.clear();
  }
}

function findFiles(patterns: readonly string[]): string[] {
  // What the benches compare with, and Cerbos, are installed in folders of their own.
  return globSync(testFiles, { cwd: root, exclude: ['**/node_modules/**'] }).filter(
    (file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)),
  );
}

/** @throws StartError with one sentence, for a person who misspelt one */
function parseOptions(args: string[]): Options {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: {
        shard: { type: 'string', default: '1/1' },
        record: { type: 'boolean', default: false },
        declared: { type: 'string', multiple: true, default: [] },
      },
      allowPositionals: true,
    });
    return {
      patterns: positionals,
      shard: parseShard(values.shard),
      isRecorded: values.record,
      declared: values.declared,
    };
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}

/** What the whole run raised without declaring it, or declared without raising it. */
async function truthProblems(directory: string): Promise<string[]> {
  // Only now: it loads both services, and a run of one file must work while another is broken.
  const { checkTruth } = await import('./truth.ts');
  return checkTruth(directory);
}

/** Whether a problem of the truth test, as `coordination POST /tasks not_found: …`, is about one of these paths. */
function isAbout(problem: string, paths: readonly string[]): boolean {
  const path = problem.split(' ')[2] ?? '';
  return paths.some((beginning) => path.startsWith(beginning));
}

/** Prints where a secret was found, or how much was searched without finding one. Returns the number of findings. */
async function searchLeaks(directory: string, isComplete: boolean): Promise<number> {
  const { checkLeaks } = await import('./leaks.ts');
  const allowed = JSON.parse(await readFile(join(import.meta.dirname, 'leaks.allow.json'), 'utf8'));
  const { findings, notes, secrets, bytes } = checkLeaks(directory, isComplete, allowed);
  for (const finding of findings) console.log(`✘ leak: ${finding}`);
  for (const note of notes) console.log(`leaks: searched only ${note}`);
  const searched = `${secrets} secrets searched in ${Math.ceil(bytes / 1e6)} MB of logs and tables`;
  console.log(`leaks: ${searched}: ${findings.length === 0 ? 'none' : `${findings.length} found`}`);
  return findings.length;
}

/** Of all files, and the share of the matrix, which grows with the number of endpoints. */
function timesOf(seconds: ReadonlyMap<string, number>): string {
  const sumOf = (times: Iterable<number>) => [...times].reduce((sum, one) => sum + one, 0);
  const sum = sumOf(seconds.values());
  const matrix = sumOf(
    [...seconds].filter(([file]) => /[/-]matrix\.test\.ts$/.test(file)).map(([, time]) => time),
  );
  const share =
    matrix === 0 ? '' : `, the matrix ${matrix.toFixed(0)} s (${((100 * matrix) / sum).toFixed(0)} %)`;
  return `test files: ${seconds.size}, ${sum.toFixed(0)} s in total${share}`;
}

try {
  process.exitCode = await main(parseOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
