import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertTookLess } from '@baton/testing/depth';
import { InvalidRequest } from '../http/refusal.ts';
import type { RunningService } from '../http/running-service.ts';
import { lengthenBody } from './body-time.ts';
import { lingerBeforeClose } from './lingering-close.ts';
import { createListener, listenerBounds, openPort } from './listener.ts';
import { answerUnreadable } from './unreadable.ts';

const answerBytes = 20_000_000;
const service: RunningService = {
  handler(req, res) {
    if (req.url === '/refused') {
      lingerBeforeClose(req, 300);
      return void res.writeHead(413, { connection: 'close' }).end('refused');
    }
    req.resume();
    if (req.url === '/stream') lengthenBody(req);
    if (req.url === '/large') res.end(Buffer.alloc(answerBytes));
    else req.once('end', () => res.end('answer'));
  },
  unreadable: answerUnreadable((error) => {
    assert.ok(error instanceof InvalidRequest);
    return { status: 400, body: { message: error.problems[0]?.message } };
  }),
  close: async () => undefined,
};
/** Longer than any successful request of these tests takes, even on a machine that stalls. */
const quick = {
  ...listenerBounds,
  headersMsMax: 1000,
  requestMsMax: 1500,
  idleMsMax: 1000,
  silenceMsMax: 1500,
  checkEveryMs: 20,
};

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function open(bounds: Partial<typeof listenerBounds> = {}): Promise<void> {
  server = createListener(service, { ...quick, ...bounds });
  await openPort(server, '127.0.0.1', 0);
}

/** Opens a connection and sends text; `ended` resolves to the response when the server has closed it. */
function send(text: string): { socket: Socket; ended: Promise<string> } {
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => (answer += String(chunk)));
  socket.on('error', () => undefined);
  if (text !== '') socket.write(text);
  return { socket, ended: once(socket, 'close').then(() => answer) };
}

/** Sends a byte at intervals until the server has closed the connection. */
async function drip(text: string, byte: string): Promise<string> {
  const { socket, ended } = send(text);
  const timer = setInterval(() => socket.write(byte), 50);
  const answer = await ended;
  clearInterval(timer);
  return answer;
}

test('the bounds of a connection are those that the documentation states', async () => {
  server = createListener(service);
  await openPort(server, '127.0.0.1', 0);
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout, maxConnections } = server;
  assert.deepEqual(
    { headersTimeout, requestTimeout, keepAliveTimeout, timeout, maxConnections },
    {
      headersTimeout: 10_000,
      requestTimeout: 600_000,
      keepAliveTimeout: 65_000,
      timeout: 120_000,
      maxConnections: 18_000,
    },
  );
});

test('headers and bodies that trickle in are answered 400 and cut when their time is up', async () => {
  await open();
  const began = performance.now();
  const answers = await Promise.all([
    drip('GET / HTTP/1.1\r\nhost: x\r\nx-slow: ', 'a'),
    drip('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n', 'a'),
  ]);
  for (const answer of answers) {
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /did not arrive in time/);
  }
  assertTookLess(began, 5000);
});

test('a connection that was opened ahead of a request and not used is closed without a response', async () => {
  await open();
  assert.equal(await send('').ended, '');
});

test('a body whose caller is known has more time, and not for ever', async () => {
  await open({ requestMsMax: 1000, streamMsMax: 2500 });
  const began = performance.now();
  const answer = await drip('PUT /stream HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n', 'a');
  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.ok(performance.now() - began > 2000, `${performance.now() - began} ms`);
});

test('a connection that sends nothing, or nothing more, is closed', async () => {
  await open();
  const fresh = send('');
  const used = send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await fresh.ended;
  assert.match(await used.ended, /^HTTP\/1\.1 200 /);
});

test('a client that does not read its answer is cut', async () => {
  await open();
  const { socket } = send('');
  socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n');
  socket.pause();
  const [connection] = (await once(server, 'connection')) as [Socket];
  await once(connection, 'close');
  socket.destroy();
});

test('beyond the limit of connections idle ones make room for new ones', async () => {
  await open({
    connectionsMax: 3,
    headersMsMax: 60_000,
    requestMsMax: 60_000,
    idleMsMax: 60_000,
    silenceMsMax: 60_000,
  });
  const idle = Array.from({ length: 3 }, () => send('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
  await Promise.all(idle.map(({ socket }) => once(socket, 'data')));
  const refused = send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  assert.equal(await refused.ended, '');
  const next = send('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  assert.match(await next.ended, /^HTTP\/1\.1 200 /);
});

test('an upgrade that nobody takes is refused, and a client that breaks off or stays does no harm', async () => {
  await open({ headersMsMax: 60_000, requestMsMax: 60_000, silenceMsMax: 60_000 });
  const upgrade = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
  const { socket, ended } = send(upgrade);
  // The client keeps its side open; the server doesn't wait for it.
  socket.allowHalfOpen = true;
  const [connection] = (await once(server, 'connection')) as [Socket];
  await once(connection, 'close');
  socket.end();
  assert.match(await ended, /^HTTP\/1\.1 404 /);
  for (let count = 0; count < 20; count += 1) {
    const broken = send(upgrade).socket;
    await once(broken, 'connect');
    broken.resetAndDestroy();
  }
  await sleep(50);
  assert.match(await send('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n').ended, / 200 /);
});

test('a refusal reaches a client that goes on sending, and is followed by the end of the connection, not by a reset', async () => {
  await open({ headersMsMax: 60_000, requestMsMax: 60_000, silenceMsMax: 60_000 });
  const socket = connect({
    port: (server.address() as { port: number }).port,
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  let [answer, failure] = ['', ''];
  socket.on('data', (chunk) => (answer += String(chunk)));
  socket.on('error', (error) => (failure = String(error)));
  socket.write('POST /refused HTTP/1.1\r\nhost: x\r\ncontent-length: 10000000\r\n\r\n');
  await once(socket, 'end');
  assert.match(answer, /^HTTP\/1.1 413 [^]*refused/);
  for (let n = 0; n < 5; n += 1) {
    socket.write(Buffer.alloc(65_536));
    await sleep(20);
  }
  assert.equal(failure, '');
  const began = performance.now();
  const timer = setInterval(() => socket.write('x'), 20);
  await new Promise((done) => socket.once('close', done));
  clearInterval(timer);
  assertTookLess(began, 3000, 'the rest, which is read for a moment only,');
});

test('a fault of the service ends the connection that met it, and no other', async () => {
  const warned: string[] = [];
  const onWarning = ({ message }: Error) => warned.push(message);
  process.on('warning', onWarning);
  const fail = () => {
    throw new Error('a fault of the service');
  };
  server = createListener({
    ...service,
    handler: (req, res) => (req.url === '/fault' ? fail() : service.handler(req, res)),
    upgrade: fail,
  });
  await openPort(server, '127.0.0.1', 0);
  const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\n';
  for (const more of ['', upgrade]) {
    const { ended } = send(`GET /fault HTTP/1.1\r\nhost: x\r\n${more}\r\n`);
    assert.equal(await ended, '');
  }
  const { socket, ended } = send('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  assert.match(await ended, /answer$/);
  socket.destroy();
  process.off('warning', onWarning);
  assert.deepEqual(warned, ['a fault of the service', 'a fault of the service']);
});
