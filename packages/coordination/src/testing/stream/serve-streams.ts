import type { AddressInfo, Socket } from 'node:net';
import type { Db } from '@baton/kernel/database/db';
import { createListener, openPort } from '@baton/kernel/listener/listener';
import { createLog } from '@baton/kernel/process/log';
import { type Authenticator, createAuthenticator } from '../../access/authn/authenticate.ts';
import { readCoordinationSettings } from '../../app/settings.ts';
import { EventStream } from '../../app/stream/event-stream.ts';
import type { TestCoordination } from '../coordination.ts';
import { openStream } from './stream-client.ts';

export interface ServedStreams {
  readonly url: string;
  readonly stream: EventStream;
  /** The sockets of the server, newest last. */
  readonly sockets: readonly Socket[];
  close(): Promise<void>;
}

export interface ServeOptions {
  pingEveryMs?: number;
  settings?: Record<string, string>;
  /** The source of events instead of the store itself. */
  db?: Db;
  /** Checks credentials instead of the store. */
  judge?(real: Authenticator, stream: () => EventStream): Pick<Authenticator, 'enter'>;
}

/** Serves streams for which only the test triggers notifications and permission checks. */
export async function serveStreams(
  baton: TestCoordination,
  { pingEveryMs, settings: given = {}, db = baton.pool, judge }: ServeOptions = {},
): Promise<ServedStreams> {
  const settings = readCoordinationSettings({ ...baton.env, CP_WS_POLL_INTERVAL_SECONDS: '600', ...given });
  const log = createLog({ name: 'test', level: 'silent' });
  const real = createAuthenticator(baton.pool, settings, log, settings.CP_DATABASE_CONNECTIONS_MAX);
  const authenticator = judge?.(real, () => stream) ?? real;
  const stream: EventStream = new EventStream({
    db,
    settings,
    log,
    authenticator,
    health: { refusedCursor: () => undefined },
    ...(pingEveryMs !== undefined && { pingEveryMs }),
  });
  const sockets: Socket[] = [];
  const server = createListener({
    handler: (_req, res) => res.end(),
    upgrade(req, socket, head) {
      sockets.push(socket as Socket);
      stream.upgrade(req, socket, head);
    },
  });
  await openPort(server, '127.0.0.1', 0);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stream,
    sockets,
    async close() {
      await stream.close();
      await real.close();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Simulates a client or network that is down: sent data is not read. @returns a function that resumes reading */
export function pauseReading(client: ReturnType<typeof openStream>): () => void {
  const socket = (client.ws as unknown as { _socket: Socket })._socket;
  socket.pause();
  return () => socket.resume();
}
