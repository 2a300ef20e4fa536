import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { killableProgram } from '../programs/killable-program.ts';
import { until } from '../wait-until.ts';

/** Cerbos: a third-party decision point with AuthZEN 1.0, without a search. */
export interface Cerbos {
  readonly url: string;
  /** Kills the server, as a crash would. */
  kill(): Promise<void>;
  /** Restarts the server on the same port, with the same policies. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const folder = join(import.meta.dirname, '../../../../../e2e/cerbos/node_modules/@cerbos/cerbos-linux-x64');
const binary = join(folder, 'cerbos-linux-x64');

/** The reason why Cerbos isn't available; undefined if it is. */
export function cerbosMissing(): string | undefined {
  return existsSync(binary) ? undefined : 'Cerbos not installed: npm ci --prefix e2e/cerbos';
}

const readyMsMax = 60_000;

/** @param policies the policy documents, by file name */
export async function startCerbos(policies: Readonly<Record<string, string>>): Promise<Cerbos> {
  const home = mkdtempSync(join(tmpdir(), 'baton-cerbos-'));
  for (const [name, text] of Object.entries(policies)) writeFileSync(join(home, `${name}.yaml`), text);
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${httpPort}`;
  const settings = [
    `server.httpListenAddr=127.0.0.1:${httpPort}`,
    `server.grpcListenAddr=127.0.0.1:${grpcPort}`,
    'storage.driver=disk',
    `storage.disk.directory=${home}`,
    'telemetry.disabled=true',
  ];
  const { start, kill } = killableProgram(
    binary,
    ['server', ...settings.map((setting) => `--set=${setting}`)],
    () =>
      until(
        () =>
          fetch(`${url}/_cerbos/health`).then(
            ({ ok }) => ok,
            () => false,
          ),
        'Cerbos',
        readyMsMax,
      ),
  );
  await start();
  return {
    url,
    start,
    kill,
    async close() {
      await kill();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
