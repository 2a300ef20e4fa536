// Runs one program in the foreground, as if it had been typed itself: its streams, its signals, its exit code.
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { PlainError, prepare, say } from './prepare.mjs';

const fastStart = new URL('fast-start.mjs', import.meta.url).href;

/** One Ctrl-C arrives several times within milliseconds: from the terminal, and again from npm. */
const sameSignalMs = 1000;
/** npx starts a shell in between, which ends on SIGTERM without passing it on. */
const orphanPollMs = 250;

/**
 * Prepares the checkout and runs a TypeScript file to its end; then this process ends as it did.
 * @param file path of the file; @param args its arguments.
 */
export async function runFile(file, args) {
  try {
    const node = await prepare();
    accessSync(file, constants.R_OK);
    inForeground(node, ['--disable-warning=ExperimentalWarning', '--import', fastStart, file, ...args]);
  } catch (error) {
    const isDenied = ['EACCES', 'EPERM'].includes(error.code) && error.path !== undefined;
    if (!(error instanceof PlainError) && !isDenied) throw error;
    say(isDenied ? deniedText(error) : error.message);
    process.exitCode = 1;
  }
}

/** In the checkout of another user, who may keep some of it from others. */
function deniedText({ code, path }) {
  return `This user may not use ${path} (${code}), which Baton needs: run it as the owner of that file, or in a copy of your own.`;
}

function inForeground(program, args) {
  const child = spawn(program, args, { stdio: 'inherit' });
  const onTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
  const lastAt = { SIGINT: -Infinity, SIGTERM: -Infinity, SIGHUP: -Infinity };
  const seen = { SIGINT: 0, SIGTERM: 0, SIGHUP: 0 };
  const passOn = (signal) => {
    const now = performance.now();
    // SIGHUP requests a reload of files: a second one soon after may concern another change.
    const isEcho = signal !== 'SIGHUP' && now - lastAt[signal] < sameSignalMs;
    if (isEcho) return;
    lastAt[signal] = now;
    seen[signal] += 1;
    // A terminal sends Ctrl-C to the whole process group, so the program has it already. If it still runs at the next
    // one, the signal may have been meant for this process alone.
    if (signal === 'SIGINT' && onTerminal && seen[signal] === 1) return;
    child.kill(signal);
  };
  for (const signal of Object.keys(lastAt)) process.on(signal, passOn);
  if (process.env.npm_command !== undefined) onOrphaned(() => passOn('SIGTERM'));
  child.on('error', (error) => {
    say(`${program} could not be run: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    for (const name of Object.keys(lastAt)) process.removeListener(name, passOn);
    process.kill(process.pid, signal);
  });
}

/** Calls `act` once when the parent process has ended. */
function onOrphaned(act) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    act();
  }, orphanPollMs);
}
