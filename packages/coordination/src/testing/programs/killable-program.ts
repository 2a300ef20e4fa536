import { type ChildProcess, spawn } from 'node:child_process';

/** A third-party server, for tests. */
export interface KillableProgram {
  /** Starts the server, or restarts it after a kill, and waits until it responds. */
  start(): Promise<void>;
  /** Kills the server, as a crash would. */
  kill(): Promise<void>;
}

/**
 * @param answers waits until the server responds, and throws if that takes too long
 */
export function killableProgram(
  binary: string,
  args: readonly string[],
  answers: () => Promise<void>,
): KillableProgram {
  let child: ChildProcess | undefined;
  return {
    async start() {
      child = spawn(binary, args, { stdio: 'ignore' });
      await answers();
    },
    async kill() {
      const ending = child;
      child = undefined;
      if (ending === undefined) return;
      const ended = new Promise((done) => ending.once('exit', done));
      ending.kill('SIGKILL');
      await ended;
    },
  };
}
