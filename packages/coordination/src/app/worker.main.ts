import { onStopSignal } from '@baton/kernel/listener/listen';
import { runProgram } from '@baton/kernel/process/command-line';
import { createMeasures } from './health/measures.ts';
import { startWorker } from './worker.ts';

// `baton worker`: runs until SIGTERM or SIGINT.
await runProgram(async () => {
  const starting = startWorker({ env: process.env, measures: createMeasures(true) });
  // Handle signals before the start too: a signal without a listener ends the process as if it had crashed.
  onStopSignal(
    () =>
      void starting.then(
        (worker) => worker.close(),
        () => undefined,
      ),
  );
  await starting;
});
