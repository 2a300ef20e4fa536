import { connect, type Socket } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');

/**
 * One keep-alive HTTP/1.1 connection with one request at a time. It does the least possible work, because the load
 * generator shares the machine's cores with what it measures.
 */
export class RawConnection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
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

  #onData(chunk: Buffer): void {
    const received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const end = received.indexOf(headEnd);
    if (end < 0 || received.length < end + headEnd.length + lengthOf(received, end)) {
      this.#received = received;
      return;
    }
    this.#received = Buffer.alloc(0);
    const { resolve } = this.#waiting ?? {};
    this.#waiting = undefined;
    resolve?.(Number(received.toString('latin1', 9, 12)));
  }
}

function lengthOf(received: Buffer, end: number): number {
  const head = received.toString('latin1', 0, end);
  if (head.startsWith('HTTP/1.1 204')) return 0;
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error('a response has no content-length');
  return Number(length);
}
