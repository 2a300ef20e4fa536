import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { noteLog } from './recent-log.ts';

export const repository = dirname(dirname(dirname(import.meta.dirname)));

export interface BatonProcess {
  readonly child: ChildProcess;
  /** The program's output so far. */
  output(): string;
  /** Resolves with the program's exit code or signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  /**
   * Waits until its output matches. @throws Error with the output if the process exits first, or after three minutes
   */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
}

const waitMs = 180_000;
/** The module that makes programs start fast, in the format that `baton` loads. */
export const fastStart = new URL('../../../bin/fast-start.mjs', import.meta.url).href;

/** Runs `baton …` with only PATH, HOME, the folder of compiled code and `env` in its environment. */
export function baton(args: readonly string[], env: Readonly<Record<string, string>>): BatonProcess {
  return program('bin/baton.mjs', args, env);
}

/**
 * Runs one file without the `baton` wrapper, so that a signal reaches the program itself.
 * @param file its path, relative to the repository unless it is absolute
 */
export function program(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  options: { readonly cwd?: string; readonly uid?: number; readonly hasInput?: boolean } = {},
): BatonProcess {
  const { hasInput = false, ...spawned } = options;
  const child = spawn(process.execPath, ['--import', fastStart, resolve(repository, file), ...args], {
    cwd: repository,
    ...spawned,
    env: { ...ownEnvironment(), ...env },
    stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      noteLog(chunk.toString());
    });
  let hasEnded = false;
  const ended = new Promise<number | NodeJS.Signals | null>((done) => {
    child.on('exit', (code, signal) => {
      hasEnded = true;
      // The program's last output may still be in the pipe.
      setTimeout(() => done(code ?? signal), 50);
    });
  });
  return {
    child,
    output: () => text,
    ended,
    async prints(pattern) {
      const deadline = performance.now() + waitMs;
      for (;;) {
        const found = pattern.exec(text);
        if (found !== null) return found;
        if (hasEnded || performance.now() > deadline)
          throw new Error(`It never printed ${pattern}:\n${text}`);
        await sleep(20);
      }
    },
  };
}

/** Waits until a started Baton is ready. @throws Error with its output if it isn't */
export async function awaitReady(process: BatonProcess): Promise<BatonProcess> {
  await process.prints(/Baton is ready at http:\S+/);
  return process;
}

/** Ends a program with a signal. @throws Error with its output if its exit code isn't 0 */
export async function stopProgram(
  { child, ended, output }: BatonProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<void> {
  child.kill(signal);
  const code = await ended;
  if (code !== 0) throw new Error(`It ended with ${code}:\n${output()}`);
}

/**
 * The part of the tests' environment that every program gets. Without the compiled code, each start of a Baton takes
 * 1.5 s more.
 */
function ownEnvironment(): Record<string, string | undefined> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) };
}

/** The process ids of a Baton's Node process, which holds the lock of its home, and of its PostgreSQL. */
export function findProcesses(home: string): { node: number; postgres: number } {
  const pidFile = join(home, 'postgres', 'data', 'postmaster.pid');
  const [owner] = readdirSync(join(home, 'lock'));
  return {
    node: Number(owner?.split('-')[0]),
    postgres: Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0]),
  };
}
