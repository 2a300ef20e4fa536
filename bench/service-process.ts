import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchError } from './bench-error.ts';
import { cpuSecondsOf } from './processor-time.ts';

export interface ServiceProcess {
  readonly port: number;
  /** Seconds of processor time that it has used so far; 0 where the system does not say. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

const readyWaitsMax = 300;
const readyWaitMs = 100;

/**
 * Starts coordination as a process of its own, configured by its documented settings, and waits until it is ready.
 * @param profileDirectory where its processor profile is written when it stops, if wanted
 */
export async function startCoordinationProcess(
  settings: Readonly<Record<string, string>>,
  profileDirectory: string | undefined,
): Promise<ServiceProcess> {
  const port = await findFreePort();
  const profiling =
    profileDirectory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`];
  const main = join(import.meta.dirname, '../packages/coordination/src/main.ts');
  const child = spawn(process.execPath, [...profiling, main, 'serve'], {
    env: { PATH: process.env.PATH, CP_PORT: String(port), CP_LOG_LEVEL: 'warn', ...settings },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for (let waits = 0; !(await isReady(port)); waits += 1) {
    if (child.exitCode !== null || waits === readyWaitsMax) {
      child.kill('SIGKILL');
      throw new BenchError('Coordination did not start.');
    }
    await sleep(readyWaitMs);
  }
  return {
    port,
    cpuSeconds: () => cpuSecondsOf(child.pid as number),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health/ready`)).ok;
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
