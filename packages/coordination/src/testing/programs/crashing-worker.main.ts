import { startWorker } from '../../app/worker.ts';
import { testSink } from '../ledger/sinks.ts';

// A worker in its own process that exits abruptly, as if killed, when it delivers one particular event.
await startWorker({
  env: process.env,
  sinks: [
    testSink(async ({ id }) => {
      if (id === process.env.POISON) process.kill(process.pid, 'SIGKILL');
    }),
  ],
});
