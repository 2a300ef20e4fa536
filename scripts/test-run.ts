import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { measuresTime } from './test-order.ts';
import type { TestEnd } from './test-reporter.ts';

export interface TestTotals {
  readonly passed: number;
  readonly failed: number;
  /** File, name and reason of each test that failed. */
  readonly failures: readonly string[];
  /** File and name of each test that did not run. */
  readonly skipped: readonly string[];
  /** The duration of each file. */
  readonly seconds: ReadonlyMap<string, number>;
  /** Every test that completed. */
  readonly tests: readonly TestRecord[];
}

/** The result of one test; a line of `tests.jsonl` in the records of a run. */
export interface TestRecord {
  readonly file: string;
  readonly name: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
}

interface OpenTotals {
  passed: number;
  failed: number;
  readonly failures: string[];
  readonly skipped: string[];
  readonly seconds: Map<string, number>;
  readonly tests: TestRecord[];
}

export interface TestLimits {
  readonly filesAtOnce: number;
  /** The value of `filesAtOnce` while one of the measuring files is running or queued. */
  readonly filesAtOnceMeasuring: number;
  readonly testTimeoutMs: number;
  /** The timeout of a group. It also ends a process that is still running after the group's tests have ended. */
  readonly groupTimeoutMs: number;
}

/**
 * A file spends a third of its time waiting for a timeout, a lock or a program that starts. With two files per core,
 * the whole run took longer in November 2026.
 */
const filesPerCore = 1.5;
/** The throw-away PostgreSQL accepts 200 connections, and a test file uses up to a dozen. */
const filesAtOnceMax = 16;

/** The module that makes programs start fast, loaded in the same way as by `baton`. */
const fastStart = new URL('../bin/fast-start.mjs', import.meta.url).href;

/** How long to wait for the remaining output of a process that has ended. */
const outputGraceMs = 500;

const filesAtOnce = Math.min(Math.ceil(availableParallelism() * filesPerCore), filesAtOnceMax);

export const usualLimits: TestLimits = {
  filesAtOnceMeasuring: filesAtOnce,
  filesAtOnce,
  // Ten times the duration of the longest test and group on a quiet machine, so only a hanging test reaches it.
  testTimeoutMs: 300_000,
  groupTimeoutMs: 900_000,
};

/** Limits of the long proof, in which some files measure times. */
export const longLimits: TestLimits = {
  ...usualLimits,
  testTimeoutMs: 900_000,
  groupTimeoutMs: 1_800_000,
  filesAtOnceMeasuring: Math.min(availableParallelism(), filesAtOnceMax),
};

interface FileEnd {
  readonly tests: readonly TestEnd[];
  /** The output of the file's process. */
  readonly output: string;
  /** The reason why the process itself failed, in addition to its tests. */
  readonly crash: string | undefined;
  readonly seconds: number;
}

/**
 * Runs test files with Node's test runner, each group of them in a process of its own, and prints one line per file;
 * for a failing file also the failed tests, the reasons, and the output of its process.
 *
 * Not with `run()` of node:test. On Node 24.21, it has no timeout for a file: one that never ends is awaited
 * without a limit, and so is a leftover process of a test, because it keeps the file's output open.
 * @param groups of paths inside `root`, started in this order, after those that measure; @param signal ends everything
 * early
 */
export async function runTests(
  root: string,
  groups: readonly (readonly string[])[],
  signal: AbortSignal,
  limits: TestLimits = usualLimits,
): Promise<TestTotals> {
  const totals: OpenTotals = {
    passed: 0,
    failed: 0,
    failures: [],
    skipped: [],
    seconds: new Map(),
    tests: [],
  };
  const measuring = groups.filter((files) => files.some(measuresTime));
  const waiting = [...measuring, ...groups.filter((files) => !measuring.includes(files))];
  const allMeasured = Promise.withResolvers<void>();
  const measured = new Set<readonly string[]>();
  if (measuring.length === 0) allMeasured.resolve();
  const work = async (_: unknown, lane: number) => {
    if (lane >= limits.filesAtOnceMeasuring) await allMeasured.promise;
    for (let files = waiting.shift(); files !== undefined && !signal.aborted; files = waiting.shift()) {
      const ends = await runGroup(root, files, signal, limits);
      if (!signal.aborted) for (const [file, end] of ends) add(totals, file, end);
      if (measuring.includes(files) && measured.add(files).size === measuring.length) allMeasured.resolve();
    }
    if (signal.aborted) allMeasured.resolve();
  };
  await Promise.all(Array.from({ length: limits.filesAtOnce }, work));
  return totals;
}

async function runGroup(
  root: string,
  files: readonly string[],
  signal: AbortSignal,
  limits: TestLimits,
): Promise<ReadonlyMap<string, FileEnd>> {
  const began = performance.now();
  const directory = await mkdtemp(join(tmpdir(), 'baton-test-run-'));
  const report = join(directory, 'tests.jsonl');
  const args = [
    '--disable-warning=ExperimentalWarning',
    `--import=${fastStart}`,
    `--import=${new URL('test-evidence.ts', import.meta.url).href}`,
    // Without these sizes, a twentieth of a test's processor time was spent on collecting young objects.
    '--min-semi-space-size=16',
    '--max-semi-space-size=64',
    `--test-timeout=${limits.testTimeoutMs}`,
    `--test-reporter=${join(import.meta.dirname, 'test-reporter.ts')}`,
    `--test-reporter-destination=${report}`,
    ...(files.length > 1 ? [join(import.meta.dirname, 'test-group.ts')] : []),
    ...files,
  ];
  try {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = await endOf(child, signal, limits.groupTimeoutMs);
    const lines = (await readFile(report, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
    const tests = lines.map((line) => JSON.parse(line) as TestEnd);
    return endsOf(files, tests, ended, (performance.now() - began) / 1000);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The results of a group by file. */
function endsOf(
  files: readonly string[],
  tests: readonly TestEnd[],
  { output, tooLong, ended }: ProcessEnd,
  groupSeconds: number,
): ReadonlyMap<string, FileEnd> {
  const isAlone = files.length === 1;
  const suites = new Map(
    tests.filter(({ result }) => result === 'suite').map(({ name, seconds }) => [name, seconds]),
  );
  const unended = isAlone ? undefined : files.find((file) => !suites.has(file));
  // A failed test explains the exit code, so no separate line is needed. It doesn't explain a file that never ended.
  const isExplained = unended === undefined && tests.some(({ result }) => result === 'failed');
  const crash = tooLong ?? (isExplained ? undefined : ended);
  const crashed = unended ?? files.at(-1);
  const inGroup = isAlone
    ? ''
    : `, in one process with ${files.filter((file) => file !== crashed).join(', ')}`;
  return new Map(
    files.map((file) => {
      const own = tests.filter(({ name, result }) => result !== 'suite' && (isAlone || isOf(file, name)));
      const noTest = own.length === 0 ? 'it holds no test, or none ran' : undefined;
      const end: FileEnd = {
        tests: isAlone ? own : own.map((test) => ({ ...test, name: nameInFile(file, test.name) })),
        output,
        crash: file === crashed && crash !== undefined ? crash + inGroup : noTest,
        seconds: isAlone ? groupSeconds : (suites.get(file) ?? 0),
      };
      return [file, end];
    }),
  );
}

const inSuite = ' > ';
const isOf = (file: string, name: string) => name === file || name.startsWith(file + inSuite);
/** A file's suite itself fails if the file can't be loaded, or if one of its hooks fails. */
const nameInFile = (file: string, name: string) =>
  name === file ? 'the file itself' : name.slice(file.length + inSuite.length);

interface ProcessEnd {
  readonly output: string;
  /** The message if the process had to be killed. */
  readonly tooLong: string | undefined;
  /** The message if the process ended with a signal or with a code other than 0. */
  readonly ended: string | undefined;
}

function endOf(child: ChildProcess, signal: AbortSignal, timeoutMs: number) {
  return new Promise<ProcessEnd>((resolve, reject) => {
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill('SIGKILL');
    }, timeoutMs);
    const stop = () => child.kill('SIGTERM');
    signal.addEventListener('abort', stop);
    child.on('error', reject);
    child.on('exit', (code, killedBy) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      const tooLong = `it took more than ${timeoutMs / 1000} s, or something of it was still running`;
      const ended = code === 0 ? undefined : `it ended with ${killedBy ?? `code ${code}`}`;
      // A process that the test left behind keeps the streams open; its later output is not awaited.
      const cut = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, outputGraceMs);
      child.on('close', () => {
        clearTimeout(cut);
        resolve({ output: Buffer.concat(chunks).toString(), tooLong: isLate ? tooLong : undefined, ended });
      });
    });
  });
}

function add(totals: OpenTotals, file: string, end: FileEnd): void {
  const of = (result: TestEnd['result']) => end.tests.filter((test) => test.result === result);
  const [passed, failed] = [of('passed').length, of('failed').length + (end.crash === undefined ? 0 : 1)];
  totals.passed += passed;
  totals.failed += failed;
  totals.seconds.set(file, end.seconds);
  for (const { name, result, seconds } of end.tests)
    if (result !== 'suite') totals.tests.push({ file, name, result, seconds });
  totals.skipped.push(...of('skipped').map(({ name }) => `${file}: ${name}`));
  const counts = failed === 0 ? `${passed} passed` : `${passed} passed, ${failed} FAILED`;
  console.log(`${failed === 0 ? '✔' : '✘'} ${file}  ${counts}  ${end.seconds.toFixed(1)} s`);
  if (failed === 0) return;
  // Print the output first, so that the failures are the last lines.
  if (end.output.trim() !== '') console.log(indent(`What ${file} printed:\n${indent(end.output.trimEnd())}`));
  const failures = of('failed').map(({ name, reason }) =>
    reason === undefined ? `${name} (see its subtests)` : `${name}\n${indent(reason)}`,
  );
  if (end.crash !== undefined) failures.push(end.crash);
  for (const failure of failures) console.log(indent(`✘ ${failure}`));
  totals.failures.push(...failures.map((failure) => `${file}: ${failure}`));
}

const indent = (text: string) => text.replaceAll(/^/gm, '    ');
