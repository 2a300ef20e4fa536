// Many clients of event streams in one process, for measurements: forked and controlled by crowd.ts.
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { Answered, CrowdMember, Order } from './crowd.ts';
import { FrameCounter } from './frame-counter.ts';

interface Client {
  readonly socket: Socket;
  readonly counter: FrameCounter;
  isOpen: boolean;
}

const openingMax = 50;
const clients: Client[] = [];
const ends: Record<string, number> = {};
let expected: { count: number; left: number; id: number } | undefined;

process.on('message', (order: Order) => void obey(order).catch(fail));
process.on('disconnect', () => process.exit());

async function obey(order: Order): Promise<void> {
  if (order.do === 'open') await openAll(order.port, order.members);
  if (order.do === 'expect') return expectCount(order.id, order.count);
  answer({
    id: order.id,
    ends,
    open: clients.filter(({ isOpen }) => isOpen).length,
    counted: countedOf(order),
  });
}

function countedOf(order: Order): Answered['counted'] {
  return order.do === 'count' ? clients.map(({ counter: { counted } }) => counted) : [];
}

function answer(message: Answered): void {
  process.send?.(message);
}

async function openAll(port: number, members: readonly CrowdMember[]): Promise<void> {
  const waiting = members.flatMap((member) => Array.from({ length: member.sockets }, () => member));
  const lanes = Array.from({ length: openingMax }, async () => {
    for (let member = waiting.shift(); member !== undefined; member = waiting.shift())
      await open(port, member);
  });
  await Promise.all(lanes);
}

/** Resolves when the handshake is accepted. */
function open(port: number, { path, token }: CrowdMember): Promise<void> {
  return new Promise((done, refuse) => {
    const socket = connect(port, '127.0.0.1');
    const counter = new FrameCounter({
      ping: (payload) => void socket.write(maskedPong(payload)),
      close: (code, reason) => end(`${code} ${reason}`),
    });
    const client: Client = { socket, counter, isOpen: false };
    const end = (why: string) => {
      if (!client.isOpen) return;
      client.isOpen = false;
      ends[why] = (ends[why] ?? 0) + 1;
      socket.destroy();
    };
    clients.push(client);
    socket.on('error', (error) => refuse(error));
    socket.on('close', () => end('cut'));
    socket.once('connect', () => socket.write(handshake(port, path, token)));
    let head = '';
    const readHead = (chunk: Buffer) => {
      head += chunk.toString('latin1');
      const headEnd = head.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      if (!head.startsWith('HTTP/1.1 101')) return refuse(new Error(head.slice(0, 100)));
      socket.off('data', readHead);
      socket.on('data', (bytes) => take(client, bytes));
      client.isOpen = true;
      done();
      const rest = Buffer.from(head.slice(headEnd + 4), 'latin1');
      if (rest.length > 0) take(client, rest);
    };
    socket.on('data', readHead);
  });
}

function take({ counter }: Client, bytes: Buffer): void {
  const before = counter.counted.count;
  counter.add(bytes);
  if (expected === undefined || before >= expected.count || counter.counted.count < expected.count) return;
  expected.left -= 1;
  if (expected.left === 0) tellAll();
}

function expectCount(id: number, count: number): void {
  expected = { id, count, left: clients.filter(({ counter }) => counter.counted.count < count).length };
  if (expected.left === 0) tellAll();
}

function tellAll(): void {
  if (expected !== undefined)
    answer({ id: expected.id, ends, open: clients.length, counted: [], atMs: now() });
  expected = undefined;
}

/** On a clock that all processes of the machine share. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

function handshake(port: number, path: string, token: string): string {
  const key = randomBytes(16).toString('base64');
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\nauthorization: Bearer ${token}\r\n\r\n`;
}

/** A client masks its frames; a mask of zeros leaves them unchanged. */
function maskedPong(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x8a, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}

function fail(error: unknown): void {
  console.error('a client of the crowd failed:', error);
  process.exit(1);
}
