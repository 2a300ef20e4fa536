// npm run sockets [-- count]: runs the test with many WebSockets in one process, 10,000 of them by default, and
// measures the cost of each.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { prepareEnvironment } from './test-environment.ts';
import { runTests } from './test-run.ts';

const root = dirname(import.meta.dirname);
const fileSecondsMax = 1200;
const socketsUsual = 10_000;

const abort = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort());
const directory = await mkdtemp(join(tmpdir(), 'baton-sockets-'));
const report = join(directory, 'figures.txt');
process.env.BATON_TEST_SOCKETS = process.argv[2] ?? String(socketsUsual);
process.env.BATON_TEST_SOCKETS_REPORT = report;
const environment = await prepareEnvironment({ depth: 'long', isSearched: true });
try {
  const { failed } = await runTests(
    root,
    [['packages/coordination/src/app/stream/sockets.test.ts']],
    abort.signal,
    {
      filesAtOnce: 1,
      filesAtOnceMeasuring: 1,
      testTimeoutMs: fileSecondsMax * 1000,
      groupTimeoutMs: fileSecondsMax * 1000,
    },
  );
  console.log(await readFile(report, 'utf8').catch(() => 'no figures'));
  console.log(`load of the machine at the end: ${loadavg()[0]?.toFixed(1)}`);
  process.exitCode = failed === 0 && !abort.signal.aborted ? 0 : 1;
} finally {
  await environment.clear();
  await rm(directory, { recursive: true, force: true });
}
