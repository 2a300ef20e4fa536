import { runProgram } from '@baton/kernel/command-line';
import { onStopSignal } from '@baton/kernel/listen';
import { createMeasures } from './health/measures.ts';
import { startWorker } from './worker.ts';

// `baton worker`: runs until SIGTERM or SIGINT.
await runProgram(async () => {
  const worker = await startWorker({ env: process.env, measures: createMeasures(true) });
  onStopSignal(() => void worker.close());
});
