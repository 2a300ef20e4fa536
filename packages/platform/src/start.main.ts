// npm start: runs everything on one machine.
import { availableParallelism } from 'node:os';
import open from 'open';
import { SettingError } from '@baton/kernel/process/config';
import { startBaton } from './baton.ts';
import { printReadyPage } from './ready-page.ts';
import { StartError } from './start-error.ts';
import { hasTerminal } from './terminal.ts';

// One thread per core for signing, and one more for slow DNS lookups (decision 0103). The thread pool reads this
// variable when it is first used.
process.env.UV_THREADPOOL_SIZE ??= String(availableParallelism() + 1);

/**
 * One Ctrl-C can deliver the signal more than once within milliseconds; a deliberate second Ctrl-C arrives later than
 * this.
 */
const sameSignalMs = 1000;

const say = (line: string) => console.log(line);
// If the output is closed, for example because its terminal was closed, Baton keeps running.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const stopping = new AbortController();
let stoppedAt = 0;

/** Resolves with the exit code when Baton should stop. */
const end = Promise.withResolvers<number>();

function onSignal(): void {
  if (!stopping.signal.aborted) {
    stoppedAt = performance.now();
    say('Stopping after requests in progress ... (press Ctrl-C again to stop immediately)');
    stopping.abort();
    end.resolve(0);
  } else if (performance.now() - stoppedAt > sameSignalMs) {
    say('Stopped without cleanup. The next start recovers.');
    process.exit(1);
  }
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);

/** A closing terminal sends SIGHUP some milliseconds before it disappears. */
const terminalGoneMs = 250;
const startedOnTerminal = hasTerminal();
// Identity handles the signal too, by reloading its files. When a terminal is closed, the signal means stop, like
// Ctrl-C.
process.on('SIGHUP', () => {
  say('SIGHUP: reloading keys and admin secrets. Errors are reported below.');
  if (!startedOnTerminal) return;
  setTimeout(() => {
    if (!hasTerminal() && !stopping.signal.aborted) onSignal();
  }, terminalGoneMs);
});

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
  printReadyPage(baton, say);
  // Service managers and scripts get no browser.
  if (process.stdout.isTTY && !process.env.CI) open(baton.signInUrl).catch(() => undefined);
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
// A handle left open by a library must not keep a stopped Baton alive.
process.exit();
