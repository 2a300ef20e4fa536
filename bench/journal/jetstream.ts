import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Measurement } from '../measurement.ts';
import { findFreePort } from '../service-process.ts';
import type { Delay } from './delay.ts';
import { pace } from './pace.ts';
import type { Way } from './rounds.ts';

/**
 * The used part of the official client. It is loaded if it is installed: without it, or without the server, this is
 * skipped.
 */
interface Nats {
  connect(options: { port: number }): Promise<{ close(): Promise<void> }>;
  jetstream(connection: unknown): {
    publish(subject: string, payload: Uint8Array): Promise<unknown>;
    consumers: { get(stream: string): Promise<{ consume(): Promise<AsyncIterable<Message>> }> };
  };
  jetstreamManager(connection: unknown): Promise<{
    streams: { add(options: { name: string; subjects: string[]; storage: string }): Promise<unknown> };
  }>;
}

interface Message {
  readonly data: Uint8Array;
}

export interface JetStream {
  /** Each call publishes one event and waits until the server has stored it. */
  readonly way: Way;
  /** The delay from the response to a publication to its message at a consumer, at an even pace. */
  delay(perSecond: number, ms: number): Promise<Delay>;
  close(): Promise<void>;
}

const serverPaths = ['/usr/sbin/nats-server', '/usr/bin/nats-server'];
const connectAttempts = 50;
const subject = 'baton.bench';
const settleMs = 1000;

/**
 * NATS JetStream with a stream on disk, with Debian's `nats-server` and the official client.
 * @returns the stream, or the reason why it is skipped
 */
export async function openJetStream(payload: string): Promise<JetStream | string> {
  const nats = await loadClient();
  if (nats === undefined) return 'JetStream is left out: @nats-io/jetstream is not installed';
  const home = await mkdtemp(join(tmpdir(), 'baton-nats-'));
  const port = await findFreePort();
  const server = await startServer(port, home);
  if (server === undefined) {
    await rm(home, { recursive: true, force: true });
    return 'JetStream is left out: there is no nats-server (Debian: apt-get install nats-server)';
  }
  const connection = await connectTo(nats, port);
  const manager = await nats.jetstreamManager(connection);
  await manager.streams.add({ name: 'bench', subjects: [subject], storage: 'file' });
  const stream = nats.jetstream(connection);
  const bytes = Buffer.from(payload);
  const publish = (data: Uint8Array) => stream.publish(subject, data);
  return {
    way: { name: 'JetStream', eventsPerCall: 1, call: async () => void (await publish(bytes)) },
    async delay(perSecond, ms) {
      const [answered, arrived] = [new Map<number, number>(), new Map<number, number>()];
      const consumer = await stream.consumers.get('bench');
      const messages = await consumer.consume();
      void (async () => {
        for await (const { data } of messages)
          arrived.set(Number(Buffer.from(data.subarray(0, 12)).toString()), performance.now());
      })();
      await sleep(settleMs);
      await pace(perSecond, ms, async (n) => {
        await publish(Buffer.from(`${String(n).padStart(12)}${payload}`));
        answered.set(n, performance.now());
      });
      await sleep(settleMs);
      const measurement = new Measurement();
      const latenciesMs = [...answered].map(([n, at]) => Math.max(0, (arrived.get(n) ?? Infinity) - at));
      measurement.add({ latenciesMs, seconds: ms / 1000, serviceCpuSeconds: 0 });
      return { name: 'JetStream', measurement };
    },
    async close() {
      await connection.close();
      server.kill('SIGKILL');
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** The client is a dependency of coordination's JetStream sink. */
async function loadClient(): Promise<Nats | undefined> {
  try {
    const names = ['@nats-io/transport-node', '@nats-io/jetstream'];
    const [transport, jetstream] = await Promise.all(names.map((name) => import(name) as Promise<object>));
    return { ...transport, ...jetstream } as Nats;
  } catch {
    return undefined;
  }
}

async function startServer(port: number, home: string): Promise<ChildProcess | undefined> {
  for (const path of serverPaths) {
    const child = spawn(
      path,
      ['--jetstream', '--store_dir', home, '--port', String(port), '--addr', '127.0.0.1'],
      {
        stdio: 'ignore',
      },
    );
    const isThere = await new Promise((done) => {
      child.once('spawn', () => done(true)).once('error', () => done(false));
    });
    if (isThere) return child;
  }
  return undefined;
}

async function connectTo(nats: Nats, port: number): ReturnType<Nats['connect']> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await nats.connect({ port });
    } catch (error) {
      if (attempt === connectAttempts) throw error;
      await sleep(100);
    }
}
