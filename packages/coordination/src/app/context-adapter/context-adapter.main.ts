import { runProgram } from '@baton/kernel/command-line';
import { onStopSignal } from '@baton/kernel/listen';
import { createMeasures } from '../health/measures.ts';
import { startContextAdapter } from './context-adapter.ts';

// `baton context-adapter`: runs until SIGTERM or SIGINT.
await runProgram(async () => {
  const adapter = await startContextAdapter({
    env: process.env,
    isWatched: true,
    measures: createMeasures(true),
  });
  onStopSignal(() => void adapter.close());
});
