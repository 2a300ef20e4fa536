// npm run model [-- steps]: random histories of tasks, claims, runs, approvals and child handles against their model; 25,000
// steps by default. A failure prints the seed and the shrunken history.
import { dirname } from 'node:path';
import { prepareEnvironment } from './test-environment.ts';
import { runTests } from './test-run.ts';

const root = dirname(import.meta.dirname);
const fileSecondsMax = 1800;
const stepsUsual = 25_000;

const abort = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort());
process.env.BATON_TEST_MODEL_STEPS = process.argv[2] ?? String(stepsUsual);
const environment = await prepareEnvironment();
try {
  const { failed } = await runTests(
    root,
    ['packages/coordination/src/app/model.property.test.ts'],
    abort.signal,
    {
      filesAtOnce: 1,
      filesAtOnceMeasuring: 1,
      testTimeoutMs: fileSecondsMax * 1000,
      fileTimeoutMs: fileSecondsMax * 1000,
    },
  );
  process.exitCode = failed === 0 && !abort.signal.aborted ? 0 : 1;
} finally {
  await environment.clear();
}
