import { onStopSignal } from '@baton/kernel/listener/listen';
import { runProgram } from '@baton/kernel/process/command-line';
import { createMeasures } from '../health/measures.ts';
import { startContextAdapter } from './context-adapter.ts';

// `baton context-adapter`: runs until SIGTERM or SIGINT.
await runProgram(async () => {
  const starting = startContextAdapter({
    env: process.env,
    isWatched: true,
    measures: createMeasures(true),
  });
  // Handle signals before the start too: a signal without a listener ends the process as if it had crashed.
  onStopSignal(
    () =>
      void starting.then(
        (adapter) => adapter.close(),
        () => undefined,
      ),
  );
  await starting;
});
