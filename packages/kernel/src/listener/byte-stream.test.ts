import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, test } from 'node:test';
import { ClientGone, InvalidRequest, Refusal } from '../http/refusal.ts';
import { readByteStream, sendByteStream } from './byte-stream.ts';

let server: Server;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.closeAllConnections();
  server.close();
});

/** Sends text to a server with this handler, and returns the handler's result. */
async function exchange<T>(
  text: string,
  handle: (req: IncomingMessage, res: ServerResponse) => Promise<T>,
): Promise<{ socket: Socket; outcome: Promise<T | Error> }> {
  let settle: (outcome: T | Error) => void;
  const outcome = new Promise<T | Error>((resolve) => {
    settle = resolve;
  });
  server = createServer((req, res) => void handle(req, res).then(settle, settle));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(text);
  return { socket, outcome };
}

const head = (length: number) => `PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`;

async function lengthOf(bytes: AsyncIterable<Buffer>): Promise<number> {
  let length = 0;
  for await (const chunk of bytes) length += chunk.length;
  return length;
}

test('a body is read to its end', async () => {
  const { outcome } = await exchange(`${head(5)}hello`, (req) => lengthOf(readByteStream(req, 5)));
  assert.equal(await outcome, 5);
});

test('one byte too many is refused', async () => {
  const { outcome } = await exchange(`${head(5)}hello`, (req) => lengthOf(readByteStream(req, 4)));
  assert.ok((await outcome) instanceof Refusal);
});

test('a client that falls silent is refused, and can still be answered', async () => {
  const { socket, outcome } = await exchange(`${head(50)}hello`, async (req, res) => {
    try {
      return await lengthOf(readByteStream(req, 50, 100));
    } finally {
      res.writeHead(400, { connection: 'close' }).end();
    }
  });
  const [answer] = (await once(socket, 'data')) as [Buffer];
  assert.match(String(answer), /^HTTP\/1\.1 400 /);
  assert.ok((await outcome) instanceof InvalidRequest);
});

test('the time that the reader takes is not counted as silence of the client', async () => {
  const { socket, outcome } = await exchange(`${head(10)}hello`, async (req) => {
    let length = 0;
    for await (const chunk of readByteStream(req, 50, 1000)) {
      length += chunk.length;
      await new Promise((next) => setTimeout(next, 1200));
    }
    return length;
  });
  setTimeout(() => socket.write('world'), 50);
  assert.equal(await outcome, 10);
});

test('a client that disconnects is detected, before the first read too', async () => {
  const { socket, outcome } = await exchange(`${head(50)}hello`, (req) => lengthOf(readByteStream(req, 50)));
  setTimeout(() => socket.destroy(), 50);
  assert.ok((await outcome) instanceof ClientGone);
  server.close();
  const early = await exchange(`${head(50)}hello`, async (req) => {
    req.destroy();
    return lengthOf(readByteStream(req, 50));
  });
  assert.ok((await early.outcome) instanceof ClientGone);
});

/** More than the buffers of a connection can hold. */
function endless(): Readable {
  return new Readable({
    read() {
      this.push(Buffer.alloc(65_536));
    },
  });
}

test('a client that does not read is cut off, and the stream is closed', async () => {
  const stream = endless();
  const { socket, outcome } = await exchange('GET / HTTP/1.1\r\nhost: x\r\n\r\n', (_, res) =>
    sendByteStream(stream, res, { silentMsMax: 200, msMax: 60_000 }),
  );
  socket.pause();
  assert.ok((await outcome) instanceof Error);
  assert.equal(stream.destroyed, true);
});

test('a client that reads for too long is cut off, however lively it is', async () => {
  const stream = endless();
  const { socket, outcome } = await exchange('GET / HTTP/1.1\r\nhost: x\r\n\r\n', (_, res) =>
    sendByteStream(stream, res, { silentMsMax: 60_000, msMax: 300 }),
  );
  socket.resume();
  assert.ok((await outcome) instanceof Error);
  assert.equal(stream.destroyed, true);
});
