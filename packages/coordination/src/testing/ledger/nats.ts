import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect as connectToNats } from '@nats-io/transport-node';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { killableProgram } from '../programs/killable-program.ts';

/** Debian's NATS server, with JetStream; for tests, on loopback. */
export interface NatsServer {
  readonly url: string;
  /** Kills the server, as a crash would. */
  kill(): Promise<void>;
  /** Restarts the server on the same port, with the same data. */
  start(): Promise<void>;
  makeStream(name: string, subject: string, token?: string): Promise<void>;
  /** All messages in the stream, in order. */
  messages(
    name: string,
    token?: string,
  ): Promise<{ subject: string; id: string; contentType: string; body: unknown }[]>;
  close(): Promise<void>;
}

const binary = '/usr/sbin/nats-server';

/** The reason why the NATS server isn't available; undefined if it is. */
export function natsMissing(): string | undefined {
  return existsSync(binary) ? undefined : "Debian's nats-server not installed: apt-get install nats-server";
}

const readyMsMax = 60_000;

export async function startNats(args: readonly string[] = []): Promise<NatsServer> {
  const home = mkdtempSync(join(tmpdir(), 'baton-nats-'));
  const port = Number(await freePort());
  const url = `nats://127.0.0.1:${port}`;
  const { start, kill } = killableProgram(
    binary,
    ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', home, ...args],
    () => untilOpen(port),
  );
  await start();
  return {
    url,
    start,
    kill,
    makeStream: (name, subject, token) =>
      asOperator(
        { url, token },
        async (manager) => void (await manager.streams.add({ name, subjects: [subject] })),
      ),
    messages: (name, token) =>
      asOperator({ url, token }, async (manager) => {
        const { state } = await manager.streams.info(name);
        const found = [];
        for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
          const message = await manager.streams.getMessage(name, { seq });
          if (message === null) continue;
          const { subject, header } = message;
          found.push({
            subject,
            id: header.get('Nats-Msg-Id'),
            contentType: header.get('content-type'),
            body: message.json(),
          });
        }
        return found;
      }),
    async close() {
      await kill();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function asOperator<T>(
  { url, token }: { url: string; token: string | undefined },
  work: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>,
): Promise<T> {
  const connection = await connectToNats({ servers: url, ...(token !== undefined && { token }) });
  try {
    return await work(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}

async function untilOpen(port: number): Promise<void> {
  for (const deadline = performance.now() + readyMsMax; performance.now() < deadline; await sleep(50)) {
    const isOpen = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.on('error', () => resolve(false));
      socket.on('close', () => resolve(false));
      socket.once('connect', () => socket.end());
    });
    if (isOpen === true) return;
  }
  throw new Error('the NATS server never listened');
}
