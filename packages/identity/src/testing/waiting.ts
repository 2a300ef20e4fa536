import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than anything takes while many test files run at once; reached only when a test fails. */
const patienceMs = 20_000;

/** Polls until `holds`: a fixed sleep would be too short on some machine. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const began = performance.now(); !(await holds()); await sleep(20))
    assert.ok(performance.now() - began < patienceMs, `timed out waiting until ${what}`);
}

/** A port that is free now, for settings that take no 0. */
export async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return String(port);
}
