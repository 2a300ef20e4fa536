import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchError } from './bench-error.ts';
import { readCpuSeconds } from './processor-time.ts';

export interface ServiceProcess {
  readonly port: number;
  /** Seconds of processor time that it has used so far; 0 on systems without /proc. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

const readyWaitsMax = 300;
const readyWaitMs = 100;
const workerStartMs = 3000;

interface Program {
  readonly name: string;
  readonly main: string;
  readonly portSetting: string;
  readonly readyPath: string;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Starts coordination as a separate process, configured by its documented settings, and waits until it is ready.
 * @param profileDirectory the folder for its CPU profile, written when it stops; undefined for none
 */
export function startCoordinationProcess(
  settings: Readonly<Record<string, string>>,
  profileDirectory: string | undefined,
): Promise<ServiceProcess> {
  const program = {
    name: 'Coordination',
    main: '../packages/coordination/src/app/main.ts',
    portSetting: 'CP_PORT',
    readyPath: '/health/ready',
    settings: { CP_LOG_LEVEL: 'warn', ...settings },
  };
  return startProcess(program, profileDirectory);
}

/** The same for identity. */
export function startIdentityProcess(
  settings: Readonly<Record<string, string>>,
  profileDirectory: string | undefined,
): Promise<ServiceProcess> {
  const program = {
    name: 'Identity',
    main: '../packages/identity/src/app/main.ts',
    portSetting: 'IAM_PORT',
    readyPath: '/readyz',
    settings: { IAM_LOG_LEVEL: 'warn', ...settings },
  };
  return startProcess(program, profileDirectory);
}

/** Starts a worker of coordination as a separate process. */
export async function startWorkerProcess(
  settings: Readonly<Record<string, string>>,
): Promise<Pick<ServiceProcess, 'cpuSeconds' | 'stop'>> {
  const main = join(import.meta.dirname, '../packages/coordination/src/app/worker.main.ts');
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env.PATH, CP_LOG_LEVEL: 'warn', ...settings },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await sleep(workerStartMs);
  if (child.exitCode !== null) throw new BenchError('The worker did not start.');
  return {
    cpuSeconds: () => readCpuSeconds(child.pid as number),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The package `oidc-provider` with its client-credentials grant, for comparison with identity. */
export function startOidcProviderProcess(
  settings: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const program = {
    name: 'oidc-provider',
    main: '../packages/identity/src/testing/oidc-provider.main.ts',
    portSetting: 'PORT',
    readyPath: '/.well-known/openid-configuration',
    settings,
  };
  return startProcess(program, undefined);
}

async function startProcess(
  { name, main, portSetting, readyPath, settings }: Program,
  profileDirectory: string | undefined,
): Promise<ServiceProcess> {
  const port = await findFreePort();
  const profiling =
    profileDirectory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`];
  const child = spawn(process.execPath, [...profiling, join(import.meta.dirname, main), 'serve'], {
    env: { PATH: process.env.PATH, [portSetting]: String(port), ...settings },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for (let waits = 0; !(await isReady(port, readyPath)); waits += 1) {
    if (child.exitCode !== null || waits === readyWaitsMax) {
      child.kill('SIGKILL');
      throw new BenchError(`${name} did not start.`);
    }
    await sleep(readyWaitMs);
  }
  return {
    port,
    cpuSeconds: () => readCpuSeconds(child.pid as number),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function isReady(port: number, path: string): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}${path}`)).ok;
  } catch {
    return false;
  }
}

export function findFreePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
