import { onStopSignal } from '@baton/kernel/listen';
import { startWorker } from './worker.ts';

// `baton worker`: runs until SIGTERM or SIGINT.
try {
  const worker = await startWorker({ env: process.env });
  onStopSignal(() => void worker.close());
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
