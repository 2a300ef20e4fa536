import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { StreamEnd } from './close-codes.ts';

/**
 * The number of frames that a client may send per second: it has no reason to send any, and the rest remains in its own
 * buffers.
 */
const clientFramesPerSecondMax = 100;
/** Bounds the queued pongs: otherwise a client that sends pings and reads nothing would fill the memory with them. */
const pongQueuedBytesMax = 16 * 1024;
const silentPingsMax = 2;
/** After this many pings, a client that sends but doesn't read its queue occupies memory needlessly. */
const unreadPingsMax = 4;

/**
 * The connection of one stream. Frames are created once for all streams and bypass `ws`, which would create and write a
 * header for each socket; no extension is offered, so nothing is compressed and frames are the same for all.
 */
export class Outlet {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;

  constructor(ws: WebSocket, socket: Duplex, pingEveryMs: number) {
    this.#ws = ws;
    this.#socket = socket;
    boundClientFrames(ws, socket);
    endWhenSilent(ws, socket, pingEveryMs);
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN;
  }

  /** The number of bytes that the client has not read yet. */
  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  /** Writes whole frames; does nothing once the stream is closing, because no frame may follow the close frame. */
  write(bytes: Buffer): void {
    if (this.isOpen) this.#socket.write(bytes);
  }

  /** Combines several writes into one system call. */
  together(write: () => void): void {
    this.#socket.cork();
    try {
      write();
    } finally {
      this.#socket.uncork();
    }
  }

  end({ code, reason }: StreamEnd): void {
    this.#ws.close(code, reason);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  onceClosed(act: () => void): void {
    if (this.#ws.readyState === this.#ws.CLOSED) act();
    else this.#ws.once('close', act);
  }

  /** Resolves when the client has read its queue, or is disconnected. */
  async drained(): Promise<void> {
    const socket = this.#socket;
    if (!socket.writableNeedDrain) return;
    await new Promise<void>((done) => {
      const end = () => {
        socket.off('drain', end).off('close', end);
        done();
      };
      socket.on('drain', end).on('close', end);
    });
  }
}

/** Discards data that the client sends, and stops reading for the rest of the second if it exceeds the limit. */
function boundClientFrames(ws: WebSocket, socket: Duplex): void {
  let [frames, secondBegan] = [0, 0];
  const count = () => {
    const now = performance.now();
    if (now - secondBegan > 1000) [frames, secondBegan] = [0, now];
    frames += 1;
    if (frames <= clientFramesPerSecondMax || ws.isPaused) return;
    ws.pause();
    setTimeout(() => ws.resume(), secondBegan + 1000 - now).unref();
  };
  ws.on('message', count).on('pong', count);
  ws.on('ping', (data) => {
    count();
    if (ws.readyState === ws.OPEN && socket.writableLength < pongQueuedBytesMax) ws.pong(data);
  });
}

/**
 * Ends a stream whose client neither responds to pings nor reads: its machine is down, or its program hangs. Frames
 * that it sends count as a response for a while only if it doesn't read its queue.
 */
function endWhenSilent(ws: WebSocket, socket: Duplex, pingEveryMs: number): void {
  let [silentPings, unreadPings] = [0, 0];
  let before = { readBytes: 0, queuedBytes: 0 };
  const answered = () => {
    silentPings = 0;
  };
  ws.on('pong', answered).on('message', answered).on('ping', answered);
  const pings = setInterval(() => {
    const queuedBytes = socket.writableLength;
    const readBytes = ((socket as { bytesWritten?: number }).bytesWritten ?? 0) - queuedBytes;
    // A slow client responds to a ping only after it has read its whole queue, so reading counts as a response too. If
    // the queue was empty, the client may have read no more than our own pings.
    const hasRead = readBytes > before.readBytes;
    if (before.queuedBytes > 0 && hasRead) answered();
    unreadPings = before.queuedBytes > 0 && !hasRead ? unreadPings + 1 : 0;
    before = { readBytes, queuedBytes };
    silentPings += 1;
    if (silentPings > silentPingsMax || unreadPings > unreadPingsMax) ws.terminate();
    else if (ws.readyState === ws.OPEN) ws.ping();
  }, pingEveryMs).unref();
  ws.once('close', () => clearInterval(pings));
}
