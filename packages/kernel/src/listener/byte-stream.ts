import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { ClientGone, InvalidRequest, Refusal } from '../http/refusal.ts';

/** The timeout for all bytes of a body or a response; other bodies have the listener's timeout. */
export const streamMsMax = 600_000;
/** The timeout between two consecutive bytes. */
export const streamSilentMsMax = 30_000;

/** A binary response: a stream whose length is `content-length`. */
export const Bytes = z
  .custom<Readable>((value) => value instanceof Readable)
  .meta({ type: 'string', format: 'binary', contentMediaType: '*/*' });

/** A request whose body hasn't been read yet. */
export interface Incoming {
  readonly method: string;
  /** The request's Content-Type as it was sent: printable, at most 255 characters. */
  readonly mediaType: string;
  /**
   * The body, chunk by chunk, readable once. A chunk is requested only after the previous one was consumed.
   * @throws Refusal `request_too_large`, InvalidRequest when the next byte takes too long, ClientGone
   */
  read(): AsyncIterable<Buffer>;
}

const late = { in: 'body', path: [], type: 'timeout', message: 'The body did not arrive in time' } as const;

/** Reads a body without ever holding more than its current chunks; see `Incoming.read`. */
export async function* readByteStream(
  raw: IncomingMessage,
  bytesMax: number,
  silentMsMax = streamSilentMsMax,
): AsyncGenerator<Buffer, void> {
  // The client may have disconnected while its credential was checked, in which case no event follows.
  if (raw.destroyed) throw new ClientGone('aborted');
  // The request stays open when the reader stops, so that it can get a response.
  const chunks = raw.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>;
  let bytes = 0;
  for (;;) {
    const next = chunks.next().catch((cause: unknown) => {
      throw new ClientGone('aborted', { cause });
    });
    const { done, value } = await inTime(next, silentMsMax);
    if (done) {
      if (!raw.complete) throw new ClientGone('aborted');
      return;
    }
    bytes += value.length;
    if (bytes > bytesMax) throw new Refusal('request_too_large', { maxBytes: bytesMax });
    yield value;
  }
}

async function inTime<T>(next: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, refuse) => {
    timer = setTimeout(() => refuse(new InvalidRequest([late])), ms);
  });
  try {
    return await Promise.race([next, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Releases the memory of an unused chunk now instead of at the next garbage collection: V8 lets 64 MiB of buffers
 * gather before it collects. Without this, transferring 100 MiB increased the memory of a process by up to 83 MiB.
 */
export function releaseChunk({ buffer, byteLength }: Buffer): void {
  // The memory of a smaller chunk isn't released, because the chunk may share it with others.
  if (buffer.byteLength === byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Writes a stream to the client as fast as it reads. The stream is closed in every case: a client that is silent for
 * too long, or takes too long in total, is disconnected.
 */
export async function sendByteStream(
  stream: Readable,
  res: ServerResponse,
  { silentMsMax, msMax } = { silentMsMax: streamSilentMsMax, msMax: streamMsMax },
): Promise<void> {
  let silent: NodeJS.Timeout | undefined;
  const cut = () => res.destroy();
  const whole = setTimeout(cut, msMax);
  const closed = () => stream.destroy(new ClientGone('the client stopped reading'));
  res.once('close', closed);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      silent = setTimeout(cut, silentMsMax);
      await written(res, chunk);
      clearTimeout(silent);
      releaseChunk(chunk);
    }
    res.off('close', closed);
    res.end();
  } finally {
    clearTimeout(whole);
    clearTimeout(silent);
    stream.destroy();
  }
}

/** Resolves when the chunk has been passed to the system. */
function written(res: ServerResponse, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    // After a connection has ended, the callback may not be called, but this event is emitted.
    const gone = () => reject(new ClientGone('the client stopped reading'));
    if (res.destroyed) return gone();
    res.once('close', gone);
    res.write(chunk, (error) => {
      res.off('close', gone);
      if (error) reject(new ClientGone('the client stopped reading', { cause: error }));
      else resolve();
    });
  });
}
