import { connect, type Socket } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');
const nothing = Buffer.alloc(0);

/**
 * One keep-alive HTTP/1.1 connection with one request at a time. It does the least possible work, because the load
 * generator shares the machine's cores with the measured service.
 */
export class RawConnection {
  readonly #socket: Socket;
  /** The first part of a head that arrived in two parts. */
  #received: Buffer = nothing;
  #status = 0;
  /** The length of the body; undefined until the head has arrived. */
  #leftBytes: number | undefined;
  #waiting: { resolve(status: number): void; reject(error: Error): void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error('the service closed the connection')));
  }

  static open(port: number): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new RawConnection(socket)));
    });
  }

  /** Sends a complete request and waits for the complete response. @returns its status */
  exchange(request: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  /** A long body is only counted, not stored. */
  #onData(chunk: Buffer): void {
    if (this.#leftBytes === undefined) this.#readHead(chunk);
    else this.#leftBytes -= chunk.length;
    if (this.#leftBytes === undefined || this.#leftBytes > 0) return;
    this.#leftBytes = undefined;
    const { resolve } = this.#waiting ?? {};
    this.#waiting = undefined;
    resolve?.(this.#status);
  }

  #readHead(chunk: Buffer): void {
    const received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const end = received.indexOf(headEnd);
    this.#received = end < 0 ? received : nothing;
    if (end < 0) return;
    this.#status = Number(received.toString('latin1', 9, 12));
    this.#leftBytes = end + headEnd.length + lengthOf(received, end) - received.length;
  }
}

function lengthOf(received: Buffer, end: number): number {
  const head = received.toString('latin1', 0, end);
  if (head.startsWith('HTTP/1.1 204')) return 0;
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error('a response has no content-length');
  return Number(length);
}
