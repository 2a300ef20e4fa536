// npm run model [-- steps]: random histories of tasks, claims, runs, approvals and child handles against their model;
// 25,000 steps by default. npm run model -- calendars [runs]: random calendars against a minute-by-minute count; 3,000
// runs of each property by default. npm run model -- processes [definitions]: random processes in the engine against a
// reference interpreter; 2,000 definitions by default. npm run model -- process-histories [definitions]: the same in
// the whole service, while its workers are killed; 2,000 by default. A failure prints the seed, and the shrunken
// history if it can be shrunk.
import { dirname } from 'node:path';
import { prepareEnvironment } from './test-environment.ts';
import { runTests } from './test-run.ts';

const root = dirname(import.meta.dirname);
const fileSecondsMax = 1800;
const models = {
  coordination: {
    file: 'packages/coordination/src/app/model.property.test.ts',
    setting: 'BATON_TEST_MODEL_STEPS',
    usual: 25_000,
  },
  calendars: {
    file: 'packages/process-engine/src/calendars/working-time.property.test.ts',
    setting: 'BATON_TEST_CALENDAR_RUNS',
    usual: 3000,
  },
  processes: {
    file: 'packages/process-engine/src/engine/process-model.property.test.ts',
    setting: 'BATON_TEST_PROCESS_DEFINITIONS',
    usual: 2000,
  },
  'process-histories': {
    file: 'packages/coordination/src/processes/instances/process-histories.property.test.ts',
    setting: 'BATON_TEST_PROCESS_HISTORIES',
    usual: 2000,
  },
};

const words = process.argv.slice(2);
const [first = '', second] = words;
const named = Object.hasOwn(models, first) ? (first as keyof typeof models) : undefined;
const model = models[named ?? 'coordination'];
const length = named === undefined ? words[0] : second;

const abort = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => abort.abort());
process.env[model.setting] = length ?? String(model.usual);
const environment = await prepareEnvironment({ depth: 'long', isSearched: true });
try {
  const { failed } = await runTests(root, [[model.file]], abort.signal, {
    filesAtOnce: 1,
    filesAtOnceMeasuring: 1,
    testTimeoutMs: fileSecondsMax * 1000,
    groupTimeoutMs: fileSecondsMax * 1000,
  });
  process.exitCode = failed === 0 && !abort.signal.aborted ? 0 : 1;
} finally {
  await environment.clear();
}
