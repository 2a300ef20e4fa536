import { startWorker } from './worker.ts';

// `baton worker`: runs until SIGTERM or SIGINT.
try {
  const worker = await startWorker({ env: process.env });
  const stop = () => {
    void worker.close();
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
