import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A range below the ports that Linux, macOS and Windows choose for connections and for `listen(0)`, so the system never
 * assigns these ports to another process.
 */
const portMin = 20_000;
const portMax = 32_000;
const triesMax = 100;
/**
 * The ports that this process has already returned: their callers may not be listening yet, or may have stopped a
 * server to restart it.
 */
const returned = new Set<number>();

/**
 * Finds a free port of 127.0.0.1, for programs that don't accept 0 and for servers that restart on their port. Within a
 * process it returns each port only once. @throws Error after 100 ports that are in use
 */
export async function freePort(): Promise<string> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const port = randomInt(portMin, portMax);
    if (returned.has(port) || !(await isFree(port))) continue;
    returned.add(port);
    return String(port);
  }
  throw new Error(`${triesMax} ports between ${portMin} and ${portMax} are in use`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
