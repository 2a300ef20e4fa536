// npm test [-- part of a file's path ...]: checks the code, then runs every test against one throw-away PostgreSQL.
//   --changed, --since=COMMIT  runs only the tests that changes since main, or since that commit, can affect
//   --seed=N                   runs the files in a random order; the same number gives the same order
//   --shard=1/2                runs one share of the test files
//   --records=FOLDER           stores the records of the run, to merge them with those of other shards
//   --declared=/PATH           lists errors and events that endpoints below this path declare and these tests don't
// cause
//   --record                   stores the duration of each file in scripts/test-seconds.json
// npm run proof [-- …] runs the long proof with the same options. npm run proof -- --merge FOLDER … checks its shards
// together.
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartError } from '@baton/platform/start-error';
import { check } from './check.ts';
import { pageFiles, sourceFiles } from './sources.ts';
import { changedFiles, touchedTests } from './test-changed.ts';
import { prepareEnvironment } from './test-environment.ts';
import { pickFiles, testFiles } from './test-files.ts';
import { parseOptions, type TestOptions } from './test-options.ts';
import { type Depth, groupFiles, writeRecord } from './test-order.ts';
import { foldersOf, readRun, shardProblems, writeRun } from './test-records.ts';
import { longLimits, runTests, type TestTotals, usualLimits } from './test-run.ts';

const root = dirname(import.meta.dirname);

async function main(options: TestOptions): Promise<number> {
  const { patterns, depth, shard, changedSince, records } = options;
  if (options.isMerge) return mergeShards(options);
  const isAll = patterns.length === 0 && changedSince === undefined;
  const isWhole = isAll && shard.total === 1;
  // Only the first shard of the usual tests checks the code.
  const isChecked = isAll && depth === 'usual' && shard.index === 1;
  const isClean = !isChecked || (await check());
  const files = changedSince === undefined ? testFiles(root) : changedTests(changedSince, depth);
  const groups = groupFiles(root, pickFiles(files, patterns, depth), options);
  if (groups.length === 0) return noFile(options);
  // The long proof searches every test's database for secrets. A run of selected files does so too, because it costs
  // little there.
  const environment = await prepareEnvironment({ depth, records, isSearched: depth === 'long' || !isAll });
  // The first Ctrl-C ends the tests and cleans up. npm may pass the signal on more than once.
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort());
  try {
    const limits = depth === 'long' ? longLimits : usualLimits;
    const totals = await runTests(root, groups, abort.signal, limits);
    const isEnded = !abort.signal.aborted;
    const isComplete = isEnded && isAll && totals.failed === 0;
    if (records !== undefined) writeRun(records, { depth, shard, isComplete, commit: commit() }, totals);
    const undeclared = await truthProblems([environment.truthDirectory], options, isWhole && isEnded);
    if (undeclared.length > 0 && totals.failed > 0)
      console.log('Tests failed, so what none produced may be what they would have produced.');
    // Only a search of all databases can find entries of the allow-list that are no longer needed.
    const isSearchWhole = isComplete && isWhole && depth === 'long';
    const leaks = isEnded ? await searchLeaks([environment.leakDirectory], isSearchWhole) : 0;
    if (isComplete && isWhole && options.isRecorded) writeRecord(depth, totals.seconds);
    if (shard.total > 1)
      console.log('\nOnly all shards together show which declared errors no test produces.');
    if (!isClean) console.log('\nThe checks at the top found something.');
    if (!isEnded) console.log('\nStopped before the end.');
    const failures = totals.failed + undeclared.length + leaks;
    printTotals(totals, failures);
    return failures === 0 && isClean && totals.passed > 0 && isEnded ? 0 : 1;
  } finally {
    await environment.clear();
  }
}

/** Checks the records of all shards as one run. */
async function mergeShards(options: TestOptions): Promise<number> {
  const folders = options.patterns;
  const runs = folders.map(readRun);
  const problems = shardProblems(runs, pickFiles(testFiles(root), [], 'long'));
  for (const problem of problems) console.log(`✘ shards: ${problem}`);
  const isComplete = problems.length === 0 && runs.every((run) => run.isComplete);
  const places = folders.map(foldersOf);
  const truth = places.map(({ truthDirectory }) => truthDirectory);
  const undeclared = await truthProblems(truth, options, true);
  const leaks = await searchLeaks(
    places.map(({ leakDirectory }) => leakDirectory),
    isComplete,
  );
  const sum = (of: 'passed' | 'failed') => runs.reduce((total, run) => total + run[of], 0);
  const totals = {
    passed: sum('passed'),
    failed: sum('failed'),
    failures: [],
    skipped: runs.flatMap(({ skipped }) => skipped),
    seconds: new Map(runs.flatMap(({ seconds }) => Object.entries(seconds))),
  };
  if (isComplete && options.isRecorded) writeRecord('long', totals.seconds);
  const failures = totals.failed + problems.length + undeclared.length + leaks;
  printTotals(totals, failures);
  return failures === 0 && isComplete ? 0 : 1;
}

function changedTests(since: string, depth: Depth): string[] {
  const changed = changedFiles(root, since);
  const all = testFiles(root);
  const touched = touchedTests(root, changed, [...sourceFiles(root), ...pageFiles(root)], all);
  console.log(
    `${changed.length} files changed since ${since} can have touched ${touched.length} of ${all.length} test files.`,
  );
  const usual = pickFiles(touched, [], depth);
  if (usual.length < touched.length)
    console.log(
      `${touched.length - usual.length} of them run in the long proof only: npm run proof -- --since=${since}`,
    );
  return usual;
}

function noFile({ patterns, changedSince, shard }: TestOptions): number {
  // Some changes affect no test, for example a change to a document. `changedTests` has already printed this.
  if (changedSince !== undefined && patterns.length === 0) return 0;
  const named = patterns.length === 0 ? '' : ` whose path contains ${patterns.join(' or ')}`;
  console.error(`There is no test file${named} in shard ${shard.index} of ${shard.total}.`);
  return 1;
}

/**
 * Prints errors and events that occurred without being declared, or that were declared but didn't occur in a whole run.
 */
async function truthProblems(
  directories: readonly string[],
  { declared }: TestOptions,
  isWhole: boolean,
): Promise<string[]> {
  if (!isWhole && declared.length === 0) return [];
  // Imported only here, because it loads both services, and a run of one file must work even if another file is broken.
  const { checkTruth } = await import('./truth.ts');
  const problems = checkTruth(directories).filter((line) => isWhole || isAbout(line, declared));
  for (const problem of problems) console.log(`✘ truth: ${problem}`);
  return problems;
}

/**
 * Whether a problem of the truth test, such as `coordination POST /tasks not_found: …`, is about one of these paths.
 */
function isAbout(problem: string, paths: readonly string[]): boolean {
  const path = problem.split(' ')[2] ?? '';
  return paths.some((beginning) => path.startsWith(beginning));
}

/** Prints where secrets were found, or, if none were, how much was searched. Returns the number of findings. */
async function searchLeaks(directories: readonly string[], isWhole: boolean): Promise<number> {
  const { checkLeaks } = await import('./leaks.ts');
  const allowed = JSON.parse(await readFile(join(import.meta.dirname, 'leaks.allow.json'), 'utf8'));
  const { findings, notes, secrets, bytes } = checkLeaks(directories, isWhole, allowed);
  for (const finding of findings) console.log(`✘ leak: ${finding}`);
  for (const note of notes) console.log(`leaks: searched only ${note}`);
  const searched = `${secrets} secrets searched in ${Math.ceil(bytes / 1e6)} MB of logs and tables`;
  console.log(`leaks: ${searched}: ${findings.length === 0 ? 'none' : `${findings.length} found`}`);
  return findings.length;
}

function printTotals(
  { passed, skipped, seconds, failures: failedTests }: Omit<TestTotals, 'tests'>,
  failures: number,
): void {
  if (skipped.length > 0)
    console.log(`\nSKIPPED, NOT TESTED:\n${skipped.map((name) => `  ${name}`).join('\n')}`);
  // Repeats the failures at the end, because the lines of their files may be thousands of lines above.
  if (failedTests.length > 0)
    console.log(`\nFAILED:\n${failedTests.map((failure) => `  ✘ ${failure}`).join('\n')}`);
  const sum = [...seconds.values()].reduce((total, one) => total + one, 0);
  console.log(`\ntest files: ${seconds.size}, ${sum.toFixed(0)} s in total`);
  console.log(`${passed} passed, ${failures} failed, ${skipped.length} skipped`);
}

/** Returns the commit of the work tree, or `none` outside of Git, for example in an unpacked archive. */
function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return 'none';
  }
}

try {
  process.exitCode = await main(parseOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
