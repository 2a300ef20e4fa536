import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';

/** One of Baton's programs in its own process. */
export interface ServiceProcess {
  readonly pid: number;
  /** The address that the program listens on; empty for a worker. */
  readonly url: string;
  /** The program's standard output so far. */
  printed(): string;
  /** Ends the program, by SIGTERM by default, and waits for its exit. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const startMsMax = 60_000;
const mains = { serve: 'main.ts', worker: 'worker.main.ts' };
const ready = {
  serve: /coordination listens at (http:\/\/[\d.]+:\d+)/,
  worker: /the worker is running()/,
};

/**
 * The environment variables that a program inherits. Without the cache of compiled code, each start takes 0.8 s longer.
 */
export function programEnv(): Record<string, string | undefined> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) };
}

/**
 * Starts coordination, or its worker, as an operator does, and waits until it is running.
 * @param env its settings; without CP_PORT it takes any free port
 * @throws Error with its output, if it exits early or takes longer than a minute
 */
export async function startProcess(
  kind: 'serve' | 'worker',
  env: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const main = join(import.meta.dirname, '../../app', mains[kind]);
  const child = spawn(process.execPath, [main, 'serve'], {
    env: { ...programEnv(), CP_PORT: '0', ...env, CP_LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => lines.push(chunk));
  const url = await urlOf(child, ready[kind]);
  return {
    pid: child.pid as number,
    url,
    printed: () => lines.join(''),
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
    },
  };
}

function urlOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((done, refuse) => {
    let printed = '';
    const failed = () => {
      child.kill('SIGKILL');
      refuse(new Error(`it did not start:\n${printed}`));
    };
    const late = setTimeout(failed, startMsMax);
    child.once('exit', failed);
    child.stdout?.on('data', (chunk: string) => {
      keepLog(chunk);
      if (printed === 'started') return;
      printed += chunk;
      const found = pattern.exec(printed);
      if (found === null) return;
      printed = 'started';
      clearTimeout(late);
      child.off('exit', failed);
      done(found[1] as string);
    });
  });
}
