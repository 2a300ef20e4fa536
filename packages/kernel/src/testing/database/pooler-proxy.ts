import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/**
 * A proxy to the database that simulates the properties of PgBouncer that a service must detect at startup: it drops
 * the parameters of a session and reports process ids that it generated. It does not pool. The real one is in
 * `e2e/pooler.long.test.ts`.
 */
export interface PoolerProxy {
  readonly url: string;
  /** The names of the statements that were prepared through the proxy. */
  readonly prepared: ReadonlySet<string>;
  close(): Promise<void>;
}

const passedOn = new Set(['user', 'database', 'client_encoding', 'application_name']);
const inventedPid = 4711;

export async function startPoolerProxy(databaseUrl: string): Promise<PoolerProxy> {
  const prepared = new Set<string>();
  const sockets = new Set<Socket>();
  const server = createServer((incoming) => {
    const outgoing = openTo(databaseUrl);
    const fromClient = messages(false, (type, body) => {
      if (type === '') return startup(body);
      if (type === 'P') noteName(prepared, body);
      return body;
    });
    const fromServer = messages(true, (type, body) => (type === 'K' ? otherPid(body) : body));
    incoming.on('data', (chunk) => outgoing.write(fromClient(chunk)));
    outgoing.on('data', (chunk) => incoming.write(fromServer(chunk)));
    for (const socket of [incoming, outgoing]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        [incoming, outgoing].forEach((end) => end.destroy());
      });
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(databaseUrl);
  url.searchParams.delete('host');
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    prepared,
    close() {
      const closed = new Promise<void>((done) => server.close(() => done()));
      for (const socket of sockets) socket.destroy();
      return closed;
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

/** Splits bytes into complete messages and changes each one. Every message has a type except a client's first. */
function messages(isTyped: boolean, change: (type: string, body: Buffer) => Buffer) {
  let rest = Buffer.alloc(0);
  let hasType = isTyped;
  return (chunk: Buffer): Buffer => {
    rest = Buffer.concat([rest, chunk]);
    const changed: Buffer[] = [];
    for (;;) {
      const head = hasType ? 1 : 0;
      if (rest.length < head + 4) break;
      const end = head + rest.readInt32BE(head);
      if (rest.length < end) break;
      const type = rest.subarray(0, head);
      const body = change(type.toString('latin1'), rest.subarray(head + 4, end));
      const length = Buffer.alloc(4);
      length.writeInt32BE(body.length + 4);
      changed.push(type, length, body);
      rest = rest.subarray(end);
      hasType = true;
    }
    return Buffer.concat(changed);
  };
}

function startup(body: Buffer): Buffer {
  const words = body.toString('utf8', 4).split('\0');
  const kept: string[] = [];
  for (let at = 0; words[at]; at += 2) {
    const [name = '', value = ''] = words.slice(at, at + 2);
    if (passedOn.has(name)) kept.push(`${name}\0${value}\0`);
  }
  return Buffer.concat([body.subarray(0, 4), Buffer.from(`${kept.join('')}\0`)]);
}

function noteName(prepared: Set<string>, body: Buffer): void {
  const name = body.toString('utf8', 0, body.indexOf(0));
  if (name !== '') prepared.add(name);
}

function otherPid(body: Buffer): Buffer {
  const changed = Buffer.from(body);
  changed.writeInt32BE(inventedPid);
  return changed;
}
