import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CliConfig } from '../config.ts';
import { type Connection, parseConnection, projectRoot } from '../connection.ts';
import { PlainError } from '../plain-error.ts';

const startWaitMs = 120_000;
const stopWaitMs = 30_000;
const pollMs = 100;
const answerMsMax = 10_000;
const recentOutputCharactersMax = 4000;

/**
 * Starts Baton with an empty temporary folder on a free port. It inherits the environment, including IAM_DATABASE_URL
 * and CP_DATABASE_URL.
 * @param settings additional settings for Baton
 * @param onSpawn called at once with a function that stops it and removes its folder, because the start may fail
 * @throws PlainError with Baton's output when it does not start
 */
export async function startTemporaryBaton(
  { environment }: CliConfig,
  settings: Readonly<Record<string, string>>,
  onSpawn: (stop: () => Promise<void>) => void,
): Promise<Connection> {
  const home = mkdtempSync(join(tmpdir(), 'baton-demo-'));
  const port = await findFreePort();
  const child = spawn(process.execPath, [join(projectRoot, 'bin', 'baton.mjs'), 'start'], {
    env: withSettings(environment, { ...settings, BATON_HOME: home, PORT: String(port) }),
    // In its own process group, so that Ctrl-C reaches only the demo, which then stops it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const recentOutput = keepRecentOutput(child);
  onSpawn(async () => {
    await stopProcess(child);
    rmSync(home, { recursive: true, force: true });
  });
  await waitUntilReady(child, `http://127.0.0.1:${port}`, recentOutput);
  const path = join(home, 'connection.json');
  return parseConnection(readFileSync(path, 'utf8'), path);
}

/**
 * Adds settings and removes their other spellings: names are case-insensitive, so another spelling could take
 * precedence, and the demo would use another folder.
 */
export function withSettings(
  environment: CliConfig['environment'],
  settings: Readonly<Record<string, string>>,
): Record<string, string | undefined> {
  const others = Object.entries(environment).filter(([name]) => !Object.hasOwn(settings, name.toUpperCase()));
  return { ...Object.fromEntries(others), ...settings };
}

/** Whether the Baton at this address is ready. */
export async function isReady(coordinationUrl: string): Promise<boolean> {
  try {
    const answer = await fetch(`${coordinationUrl}/health/ready`, {
      signal: AbortSignal.timeout(answerMsMax),
    });
    return answer.status === 200;
  } catch {
    return false;
  }
}

async function waitUntilReady(child: ChildProcess, url: string, recentOutput: () => string): Promise<void> {
  const deadlineMs = performance.now() + startWaitMs;
  while (performance.now() < deadlineMs) {
    if (await isReady(url)) return;
    if (child.exitCode !== null || child.signalCode !== null)
      throw new PlainError(`Baton did not start:\n${recentOutput()}`);
    await sleep(pollMs);
  }
  throw new PlainError(`Baton did not start within ${startWaitMs / 1000} s:\n${recentOutput()}`);
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), stopWaitMs);
  await ended;
  clearTimeout(timer);
}

function keepRecentOutput(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-recentOutputCharactersMax);
    });
  return () => output.trim() || 'it printed nothing.';
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
