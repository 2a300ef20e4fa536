// npm start: everything on one machine.
import { availableParallelism } from 'node:os';
import { SettingError } from '@baton/kernel/config';
import { startBaton } from './baton.ts';
import { sayReady } from './ready-page.ts';
import { StartError } from './start-error.ts';

// Signatures get a thread for each core, and a slow name look-up one more (decision 0103). It counts until the first use.
process.env.UV_THREADPOOL_SIZE ??= String(availableParallelism() + 1);

/** A terminal's Ctrl-C can arrive more than once within milliseconds; a second one on purpose comes later. */
const sameSignalMs = 1000;

const say = (line: string) => console.log(line);
// Whoever read the output may go away, as a closed terminal does; Baton goes on.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const stopping = new AbortController();
let stoppedAt = 0;

/** The exit code, when it is time to stop. */
const end = Promise.withResolvers<number>();

function onSignal(): void {
  if (!stopping.signal.aborted) {
    stoppedAt = performance.now();
    say('Stopping: finishing requests under way ... (again to stop at once)');
    stopping.abort();
    end.resolve(0);
  } else if (performance.now() - stoppedAt > sameSignalMs) {
    say('Stopped at once; the next start recovers.');
    process.exit(1);
  }
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);

try {
  const baton = await startBaton({
    env: process.env,
    say,
    signal: stopping.signal,
    onFailure(reason) {
      console.error(reason.message);
      end.resolve(1);
    },
  });
  sayReady(baton, say);
  process.exitCode = await end.promise;
  await baton.close();
  say('Stopped.');
} catch (error) {
  if (stopping.signal.aborted) process.exitCode = 0;
  else if (error instanceof StartError || error instanceof SettingError) {
    console.error(error.message);
    process.exitCode = 1;
  } else throw error;
}
// What a library left open must not keep a stopped Baton alive.
process.exit();
