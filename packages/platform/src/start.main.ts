// npm start: everything on one machine.
import { availableParallelism } from 'node:os';
import open from 'open';
import { SettingError } from '@baton/kernel/process/config';
import { startBaton } from './baton.ts';
import { printReadyPage } from './ready-page.ts';
import { StartError } from './start-error.ts';
import { hasTerminal } from './terminal.ts';

// Signing gets a thread per core, and slow DNS look-ups one more (decision 0103). The pool reads it at its first use.
process.env.UV_THREADPOOL_SIZE ??= String(availableParallelism() + 1);

/** One Ctrl-C can deliver the signal more than once within milliseconds; a second Ctrl-C comes later than this. */
const sameSignalMs = 1000;

const say = (line: string) => console.log(line);
// The reader of the output may go away, as when a terminal is closed; Baton keeps running.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const stopping = new AbortController();
let stoppedAt = 0;

/** Resolves with the exit code when Baton shall stop. */
const end = Promise.withResolvers<number>();

function onSignal(): void {
  if (!stopping.signal.aborted) {
    stoppedAt = performance.now();
    say('Stopping: finishing requests in progress ... (Ctrl-C again to stop at once)');
    stopping.abort();
    end.resolve(0);
  } else if (performance.now() - stoppedAt > sameSignalMs) {
    say('Stopped without cleaning up; the next start recovers.');
    process.exit(1);
  }
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);

/** A terminal that closes sends SIGHUP some milliseconds before it is gone. */
const terminalGoneMs = 250;
const startedOnTerminal = hasTerminal();
// Identity listens for the signal too, and reads its files. Of a closed terminal it means the end, as Ctrl-C does.
process.on('SIGHUP', () => {
  say('SIGHUP: reading the keys and admin secrets again; what can not be read is reported.');
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
  // A service manager or a script wants no browser.
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
// A handle that a library left open must not keep a stopped Baton alive.
process.exit();
