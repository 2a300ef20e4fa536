// npm run liveness [-- part of a file's path]: sends each kind of each endpoint's worst requests alone, one after
// another, on an otherwise idle machine, and prints the figures as a table. Under ten minutes on two cores.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { prepareEnvironment } from './test-environment.ts';
import { runTests } from './test-run.ts';

const root = dirname(import.meta.dirname);
const fileSecondsMax = 600;
const files = [
  'packages/identity/src/app/liveness.test.ts',
  'packages/coordination/src/app/liveness.long.test.ts',
];
const wanted = process.argv.slice(2);
const shownMax = 25;

interface Line {
  readonly service: string;
  readonly name: string;
  readonly quietP99Ms: number;
  readonly p99Ms: number;
  readonly calls: number;
  readonly hostileCalls: number;
  readonly blockedMs: number;
  readonly delayP99Ms: number;
  readonly growthBytes: number;
}

const abort = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort());
const directory = await mkdtemp(join(tmpdir(), 'baton-liveness-'));
const report = join(directory, 'figures.jsonl');
process.env.BATON_LIVENESS_REPORT = report;
const environment = await prepareEnvironment({ depth: 'long', isSearched: true });
const began = performance.now();
const loadBefore = loadavg()[0] ?? 0;
try {
  const chosen = files.filter((file) => wanted.every((part) => file.includes(part)));
  const { failed } = await runTests(
    root,
    chosen.map((file) => [file]),
    abort.signal,
    {
      filesAtOnce: 1,
      filesAtOnceMeasuring: 1,
      testTimeoutMs: fileSecondsMax * 1000,
      groupTimeoutMs: fileSecondsMax * 1000,
    },
  );
  const lines = (await readFile(report, 'utf8')).trim().split('\n');
  print(lines.map((line) => JSON.parse(line) as Line));
  process.exitCode = failed === 0 && !abort.signal.aborted ? 0 : 1;
} finally {
  await environment.clear();
  await rm(directory, { recursive: true, force: true });
}

/** Prints the worst value of each figure, as a table for docs/performance.md. */
function print(lines: readonly Line[]): void {
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(
    `\n${lines.length} kinds of requests in ${seconds} s on ${availableParallelism()} cores, load before ${loadBefore.toFixed(1)}`,
  );
  const title =
    'Service | Requests | Hostile calls | Bystander calls | Quiet p99 ms | p99 ms | Longest turn ms | Loop delay p99 ms | Growth MiB';
  console.log(`| ${title} |\n|${'---|'.repeat(title.split('|').length)}`);
  const worst = new Set<Line>();
  for (const figure of ['p99Ms', 'blockedMs', 'growthBytes'] as const)
    for (const line of lines.toSorted((one, other) => other[figure] - one[figure]).slice(0, shownMax / 3))
      worst.add(line);
  for (const line of [...worst].sort((one, other) => other.p99Ms - one.p99Ms)) console.log(rowOf(line));
}

function rowOf(line: Line): string {
  const figures = [
    line.hostileCalls,
    line.calls,
    line.quietP99Ms,
    line.p99Ms,
    line.blockedMs,
    line.delayP99Ms,
  ];
  const cells = [line.service, `\`${line.name}\``, ...figures, line.growthBytes / 2 ** 20];
  return `| ${cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(0) : cell)).join(' | ')} |`;
}
