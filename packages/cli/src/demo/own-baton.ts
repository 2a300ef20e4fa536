import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CliConfig } from '../config.ts';
import { type Connection, parseConnection, projectRoot } from '../connection.ts';
import { HttpClient } from '../http-client.ts';
import { PlainError } from '../plain-error.ts';

const startWaitMs = 120_000;
const stopWaitMs = 30_000;
const askEveryMs = 100;
const lastWordsMax = 4000;

/**
 * Starts Baton with an empty temporary folder on a free port. The environment goes with it, so IAM_DATABASE_URL and
 * CP_DATABASE_URL are used when set.
 * @param onBegun told at once how to stop it and remove its folder; starting takes seconds and may fail
 * @throws PlainError with Baton's own words when it does not come up
 */
export async function startOwnBaton(
  { environment }: CliConfig,
  onBegun: (stop: () => Promise<void>) => void,
): Promise<Connection> {
  const home = mkdtempSync(join(tmpdir(), 'baton-demo-'));
  const port = await findFreePort();
  const child = spawn(process.execPath, [join(projectRoot, 'bin', 'baton.mjs'), 'start'], {
    env: { ...environment, BATON_HOME: home, PORT: String(port) },
    // A group of its own: Ctrl-C reaches only the demonstration, which then stops it in order.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lastWords = keepLastWords(child);
  onBegun(async () => {
    await stopProcess(child);
    rmSync(home, { recursive: true, force: true });
  });
  await waitUntilReady(child, `http://127.0.0.1:${port}`, lastWords);
  const path = join(home, 'connection.json');
  return parseConnection(readFileSync(path, 'utf8'), path);
}

/** Whether the Baton of this connection answers now. */
export async function isReady(coordinationUrl: string): Promise<boolean> {
  const http = new HttpClient(coordinationUrl);
  try {
    return (await http.send('GET', '/health/ready')).status === 200;
  } catch (error) {
    if (error instanceof PlainError) return false;
    throw error;
  } finally {
    http.close();
  }
}

async function waitUntilReady(child: ChildProcess, url: string, lastWords: () => string): Promise<void> {
  const deadlineMs = performance.now() + startWaitMs;
  while (performance.now() < deadlineMs) {
    if (await isReady(url)) return;
    if (child.exitCode !== null || child.signalCode !== null)
      throw new PlainError(`Baton did not start:\n${lastWords()}`);
    await sleep(askEveryMs);
  }
  throw new PlainError(`Baton did not start within ${startWaitMs / 1000} s:\n${lastWords()}`);
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), stopWaitMs);
  await ended;
  clearTimeout(timer);
}

function keepLastWords(child: ChildProcess): () => string {
  let words = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      words = (words + chunk).slice(-lastWordsMax);
    });
  return () => words.trim() || 'it said nothing.';
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
