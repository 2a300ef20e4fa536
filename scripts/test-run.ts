import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestEnd } from './test-reporter.ts';

export interface TestTotals {
  readonly passed: number;
  readonly failed: number;
  /** File, name and reason of each test that failed. */
  readonly failures: readonly string[];
  /** File and name of each test that did not run. */
  readonly skipped: readonly string[];
  /** What each file took. */
  readonly seconds: ReadonlyMap<string, number>;
}

interface OpenTotals {
  passed: number;
  failed: number;
  readonly failures: string[];
  readonly skipped: string[];
  readonly seconds: Map<string, number>;
}

export interface TestLimits {
  readonly filesAtOnce: number;
  /** While one of the files that measure is running or waits. */
  readonly filesAtOnceMeasuring: number;
  readonly testTimeoutMs: number;
  /** Also ends a file whose tests are over while something of it still runs. */
  readonly fileTimeoutMs: number;
}

/** A third of a file's time it waits: for a time limit, a lock, a program that starts. */
const filesPerCore = 1.5;
/** The throw-away PostgreSQL takes 200 connections, and a test file up to a dozen. */
const filesAtOnceMax = 16;

/** For what an ended process printed to arrive. */
const outputGraceMs = 500;

/** They run first: they compare times, and beside three files on two cores a bound was broken by chance. */
const measuringFiles = /\/(?:liveness|scroll)\.test\.\w+$/;

const usualLimits: TestLimits = {
  filesAtOnceMeasuring: Math.min(availableParallelism(), filesAtOnceMax),
  filesAtOnce: Math.min(Math.ceil(availableParallelism() * filesPerCore), filesAtOnceMax),
  testTimeoutMs: 120_000,
  fileTimeoutMs: 300_000,
};

interface FileEnd {
  readonly tests: TestEnd[];
  /** What the file's process printed. */
  readonly output: string;
  /** Why the process itself failed, beside its tests. */
  readonly crash: string | undefined;
  readonly seconds: number;
}

/**
 * Runs test files with Node's test runner, each in a process of its own, and prints one line per file; of a file that
 * fails also which tests failed, why, and what it printed.
 *
 * Not with `run()` of node:test. Tried on Node 24.21, it has no limit of time for a file: one that never ends is waited
 * for without end, and so is a process that a test left behind, because it holds the file's output open.
 * @param files paths inside `root`, started in this order, after those that measure; @param signal ends everything early
 */
export async function runTests(
  root: string,
  files: readonly string[],
  signal: AbortSignal,
  limits: TestLimits = usualLimits,
): Promise<TestTotals> {
  const totals: OpenTotals = { passed: 0, failed: 0, failures: [], skipped: [], seconds: new Map() };
  const measuring = files.filter((file) => measuringFiles.test(file));
  const waiting = [...measuring, ...files.filter((file) => !measuringFiles.test(file))];
  const allMeasured = Promise.withResolvers<void>();
  const measured = new Set<string>();
  if (measuring.length === 0) allMeasured.resolve();
  const work = async (_: unknown, lane: number) => {
    if (lane >= limits.filesAtOnceMeasuring) await allMeasured.promise;
    for (let file = waiting.shift(); file !== undefined && !signal.aborted; file = waiting.shift()) {
      const end = await runFile(root, file, signal, limits);
      if (!signal.aborted) add(totals, file, end);
      if (measuringFiles.test(file) && measured.add(file).size === measuring.length) allMeasured.resolve();
    }
    if (signal.aborted) allMeasured.resolve();
  };
  await Promise.all(Array.from({ length: limits.filesAtOnce }, work));
  return totals;
}

async function runFile(
  root: string,
  file: string,
  signal: AbortSignal,
  limits: TestLimits,
): Promise<FileEnd> {
  const began = performance.now();
  const directory = await mkdtemp(join(tmpdir(), 'baton-test-run-'));
  const report = join(directory, 'tests.jsonl');
  const reporter = join(import.meta.dirname, 'test-reporter.ts');
  const args = [
    '--disable-warning=ExperimentalWarning',
    `--test-timeout=${limits.testTimeoutMs}`,
    `--test-reporter=${reporter}`,
    `--test-reporter-destination=${report}`,
    file,
  ];
  try {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const { output, tooLong, ended } = await endOf(child, signal, limits.fileTimeoutMs);
    const lines = (await readFile(report, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
    const tests = lines.map((line) => JSON.parse(line) as TestEnd);
    const seconds = (performance.now() - began) / 1000;
    // A failed test explains the exit code, which then needs no line.
    const isExplained = tests.some(({ result }) => result === 'failed');
    const noTest = tests.length === 0 ? 'it holds no test' : undefined;
    return { tests, output, crash: tooLong ?? (isExplained ? undefined : (ended ?? noTest)), seconds };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

interface ProcessEnd {
  readonly output: string;
  /** Set when it had to be killed. */
  readonly tooLong: string | undefined;
  /** Set when it ended with a signal or a code other than 0. */
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
      // A process that was left behind holds the streams open: what it prints later is not waited for.
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
  totals.skipped.push(...of('skipped').map(({ name }) => `${file}: ${name}`));
  const counts = failed === 0 ? `${passed} passed` : `${passed} passed, ${failed} FAILED`;
  console.log(`${failed === 0 ? '✔' : '✘'} ${file}  ${counts}  ${end.seconds.toFixed(1)} s`);
  if (failed === 0) return;
  const failures = of('failed').map(({ name, reason }) =>
    reason === undefined ? `${name} (see its subtests)` : `${name}\n${indent(reason)}`,
  );
  if (end.crash !== undefined) failures.push(end.crash);
  for (const failure of failures) console.log(indent(`✘ ${failure}`));
  totals.failures.push(...failures.map((failure) => `${file}: ${failure}`));
  if (end.output.trim() !== '') console.log(indent(`What ${file} printed:\n${indent(end.output.trimEnd())}`));
}

const indent = (text: string) => text.replaceAll(/^/gm, '    ');
