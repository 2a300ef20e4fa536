import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../process/free-port.ts';

/**
 * A proxy to the database that can close connections like a restart, or become silent like a network that drops
 * packets.
 */
export interface DatabaseProxy {
  readonly url: string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Silently drops all traffic from now on, on open connections and on new ones, which are still accepted. */
  silence(): void;
  /** New connections work again. Earlier ones stay silent, as after a change of address. */
  speak(): void;
}

interface Pair {
  readonly incoming: Socket;
  readonly outgoing: Socket;
  isSilent: boolean;
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const pairs = new Set<Pair>();
  let isSilent = false;
  const server = createServer((incoming) => {
    const pair = { incoming, outgoing: openTo(databaseUrl), isSilent: false };
    pairs.add(pair);
    join(pair, () => pairs.delete(pair));
    if (isSilent) mute(pair);
  });
  const port = await freePort();
  await listen(server, Number(port));
  const url = new URL(databaseUrl);
  url.searchParams.delete('host');
  url.hostname = '127.0.0.1';
  url.port = port;
  return {
    url: url.href,
    async cut() {
      const closed = new Promise<void>((done) => server.close(() => done()));
      for (const { incoming, outgoing } of pairs) [incoming, outgoing].forEach((end) => end.destroy());
      await closed;
    },
    mend: () => listen(server, Number(port)),
    silence() {
      isSilent = true;
      pairs.forEach(mute);
    },
    speak() {
      isSilent = false;
      // The server has to detect by its own keepalive that these clients have vanished.
      for (const pair of pairs) if (pair.isSilent) pair.outgoing.destroy();
    },
  };
}

function openTo(databaseUrl: string): Socket {
  const target = new URL(databaseUrl);
  const folder = target.searchParams.get('host');
  const port = Number(target.port || 5432);
  return folder?.startsWith('/')
    ? connect(`${folder}/.s.PGSQL.${port}`)
    : connect(port, folder ?? target.hostname);
}

function join(pair: Pair, gone: () => void): void {
  const { incoming, outgoing } = pair;
  for (const socket of [incoming, outgoing]) {
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (!pair.isSilent) [incoming, outgoing].forEach((end) => end.destroy());
      if (incoming.destroyed && outgoing.destroyed) gone();
    });
  }
  incoming.pipe(outgoing).pipe(incoming);
}

function mute(pair: Pair): void {
  pair.isSilent = true;
  pair.incoming.unpipe(pair.outgoing).resume();
  pair.outgoing.unpipe(pair.incoming).resume();
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', done);
  });
}
