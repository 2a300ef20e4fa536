import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { ConsoleDemo } from '@baton/console/server';
import { type Environment, projectRoot } from './config.ts';

export interface LiveDemoOptions {
  readonly env: Environment;
  /** The file with the connection details of this Baton. */
  readonly connectionFile: string;
  /** The address at which this process sends requests to itself. */
  readonly localUrl: string;
  /** The principal of coordination that may control the demo; undefined until Baton is ready. */
  administratorId(): string | undefined;
  /** A replacement for `baton` in tests. */
  readonly program?: string;
}

const batonProgram = join(projectRoot, 'bin', 'baton.mjs');

const startMsMax = 60_000;
const removeMsMax = 60_000;
const stopMsMax = 10_000;
const outputCharactersMax = 4_000;

/** Runs `baton demo live` and `baton demo remove` for the console, as child processes, one at a time. */
export class LiveDemo implements ConsoleDemo {
  readonly #options: LiveDemoOptions;
  #running: ChildProcess | undefined;
  /** The current action; the next one waits for it. */
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: LiveDemoOptions) {
    this.#options = options;
  }

  isFor(principalId: string): boolean {
    return principalId === this.#options.administratorId();
  }

  /**
   * @throws Error with a message for the user if a demo exists or can't start
   */
  start(): Promise<void> {
    return this.#next(() => this.#startChild());
  }

  /**
   * @throws Error with a message for the user
   */
  remove(): Promise<void> {
    return this.#next(async () => {
      await stop(this.#running);
      const { child, output } = this.#spawn('remove');
      const code = await exitOf(child, removeMsMax);
      if (code === 0) return;
      if (hasEnded(child)) throw new Error(lastLine(output()));
      child.kill('SIGTERM');
      throw new Error(`Removing the demo took longer than ${removeMsMax / 1000} s. Try again.`);
    });
  }

  /** Stops a running demo; its agents release their claims. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await stop(this.#running);
    await this.#last.catch(() => undefined);
  }

  #next(act: () => Promise<void>): Promise<void> {
    const after = this.#last.catch(() => undefined).then(act);
    this.#last = after;
    return after;
  }

  async #startChild(): Promise<void> {
    const { child, output } = this.#spawn('live');
    await untilReady(child, output);
    this.#running = child;
  }

  #spawn(act: 'live' | 'remove'): { child: ChildProcess; output: () => string } {
    if (this.#isClosed) throw new Error('Baton is stopping.');
    const { env, connectionFile, localUrl, program = batonProgram } = this.#options;
    const words = ['demo', act, '--connection', connectionFile, '--url', localUrl];
    const child = spawn(process.execPath, [program, ...words], {
      env,
      // In its own process group, so that Ctrl-C reaches only Baton, which then stops it.
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-outputCharactersMax);
    });
    return { child, output: () => output };
  }
}

/**
 * Waits for the line with the demo's URL, which is printed when its workspace and tasks exist.
 * @throws Error with a message for the user if the demo exits before that, or takes longer than `startMsMax`
 */
function untilReady(child: ChildProcess, output: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (settled: () => void) => {
      // Without this, the timer would stop every demo 60 s after its start.
      clearTimeout(timer);
      settled();
    };
    const fail = () => settle(() => reject(new Error(lastLine(output()))));
    const timer = setTimeout(() => {
      child.kill('SIGTERM');
      reject(new Error(`The demo did not start within ${startMsMax / 1000} s.`));
    }, startMsMax);
    child.stderr?.on('data', () => {
      if (output().includes('Watch it at ')) settle(resolve);
    });
    child.once('exit', fail);
    child.once('error', fail);
  });
}

async function stop(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || hasEnded(child)) return;
  child.kill('SIGTERM');
  await exitOf(child, stopMsMax);
  if (!hasEnded(child)) child.kill('SIGKILL');
  await exitOf(child);
}

/** @returns the exit code; undefined after `msMax` or a signal */
function exitOf(child: ChildProcess, msMax?: number): Promise<number | undefined> {
  if (hasEnded(child)) return Promise.resolve(child.exitCode ?? undefined);
  return new Promise((resolve) => {
    const timer = msMax === undefined ? undefined : setTimeout(() => resolve(undefined), msMax);
    const end = (code: number | null) => {
      clearTimeout(timer);
      resolve(code ?? undefined);
    };
    child.once('exit', end);
    child.once('error', () => end(null));
  });
}

function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) || 'The demo exited without an error message.';
}
