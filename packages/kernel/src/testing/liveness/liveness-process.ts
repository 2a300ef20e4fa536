import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProbeReading } from './liveness-probe.ts';

/** A program of a service, as it is started in production. */
export interface ServiceProgram {
  /** The file that Node runs, with `serve`. */
  readonly main: string;
  readonly portSetting: string;
  readonly readyPath: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface ProbedProcess {
  readonly url: string;
  /** The measurements since the previous call. */
  measure(): Promise<ProbeReading>;
  stop(): Promise<void>;
}

/**
 * The heap size that docs/operations.md recommends. Without a limit, V8 collects garbage late and the process grows.
 */
export const heapMiB = 384;

const readyMsMax = 60_000;
const readyEveryMs = 50;
const answerMsMax = 30_000;
const stopMsMax = 10_000;

/** Starts a service in a separate process with the probe, and waits until it is ready. */
export async function startProbed({
  main,
  portSetting,
  readyPath,
  env,
}: ServiceProgram): Promise<ProbedProcess> {
  const port = await findFreePort();
  const probe = join(import.meta.dirname, 'liveness-probe.ts');
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${heapMiB}`, '--import', probe, main, 'serve'],
    {
      env: { PATH: process.env.PATH, [portSetting]: String(port), ...env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  const stop = () => end(child, ended);
  const url = `http://127.0.0.1:${port}`;
  const startedAt = performance.now();
  while (!(await isReady(`${url}${readyPath}`))) {
    if (child.exitCode === null && performance.now() - startedAt < readyMsMax) await sleep(readyEveryMs);
    else {
      await stop();
      throw new Error(`${main} did not become ready.`);
    }
  }
  return { url, measure: () => measure(child), stop };
}

function measure(child: ChildProcess): Promise<ProbeReading> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no measure in ${answerMsMax} ms`)), answerMsMax);
    child.once('message', (reading) => {
      clearTimeout(timer);
      resolve(reading as ProbeReading);
    });
    child.send('measure');
  });
}

async function end(child: ChildProcess, ended: Promise<void>): Promise<void> {
  const timer = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(timer);
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

function findFreePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
