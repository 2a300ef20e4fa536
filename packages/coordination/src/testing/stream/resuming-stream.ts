import { WebSocket } from 'ws';
import type { StreamedEvent } from './stream-client.ts';

export interface ResumingStreamOptions {
  /** Called before each attempt, so that it may return another process each time. */
  url(): string;
  /** Called before each attempt. */
  token(): string | Promise<string>;
  /** The cursor to start from; if absent, the oldest existing event. */
  after?: string;
  types?: string;
  /** Gets the events in the order of the journal. Each one moves the cursor of the next attempt. */
  received(event: StreamedEvent): void;
}

/** A stream that is reopened, after its newest event, whenever it ends. */
export interface ResumingStream {
  /** The cursor of the newest event. */
  readonly cursor: string | undefined;
  /**
   * The number of times that the stream was opened, by the code with which the previous one ended; `first` for the
   * first time.
   */
  readonly opened: ReadonlyMap<number | 'first', number>;
  /** Rejects when reopening can't succeed: a lost permission, or a cursor below the pruned history. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
}

const pauseMsMin = 50;
const pauseMsMax = 2000;
/**
 * The service pings every 15 s. A client that receives no frame for twice that time has lost its connection without
 * noticing.
 */
const silenceMsMax = 35_000;
const handshakeMsMax = 10_000;
/** 4401: the next attempt uses a new token. 4503, 1013 and 1001: the service requests a retry. 1006: disconnected. */
const passing = [4401, 4503, 1001, 1006, 1011, 1012, 1013];

/**
 * Consumes a tenant's journal by WebSocket through restarts, kills and disconnects: each event at least once, in order.
 */
export function openResumingStream(options: ResumingStreamOptions): ResumingStream {
  const opened = new Map<number | 'first', number>();
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // The rejection must not crash a caller that doesn't await it.
  failed.catch(() => undefined);
  let cursor = options.after;
  let current: WebSocket | undefined;
  let isClosed = false;
  const closing = Promise.withResolvers<void>();

  async function consume(): Promise<void> {
    let [cause, failures]: [number | 'first', number] = ['first', 0];
    while (!isClosed) {
      opened.set(cause, (opened.get(cause) ?? 0) + 1);
      const { code, reason, count } = await readOnce();
      if (isClosed) return;
      if (reason === 'cursor_from_other_history') cursor = await resumeCursorOf(options, cursor);
      else if (!passing.includes(code)) throw new Error(`the stream ended with ${code} ${reason}`);
      failures = count > 0 ? 0 : failures + 1;
      cause = code;
      await Promise.race([pause(failures), closing.promise]);
    }
  }

  async function readOnce(): Promise<{ code: number; reason: string; count: number }> {
    const ws = await connect(options, cursor);
    current = ws;
    let [count, heardAt] = [0, performance.now()];
    const heard = () => {
      heardAt = performance.now();
    };
    const watch = setInterval(() => {
      if (performance.now() - heardAt > silenceMsMax) ws.terminate();
    }, 1000);
    ws.on('error', () => undefined);
    ws.on('ping', heard);
    ws.on('message', (data) => {
      heard();
      const event = JSON.parse(String(data)) as StreamedEvent;
      options.received(event);
      // The cursor moves only after the event was consumed; otherwise the next attempt delivers it again.
      cursor = event.cursor;
      count += 1;
    });
    if (isClosed) ws.terminate();
    return new Promise((done) => {
      ws.once('close', (code, reason) => {
        clearInterval(watch);
        done({ code, reason: String(reason), count });
      });
    });
  }

  const consuming = consume().catch(reject);
  return {
    get cursor() {
      return cursor;
    },
    opened,
    failed,
    async close() {
      isClosed = true;
      closing.resolve();
      current?.terminate();
      await consuming;
    },
  };
}

async function connect({ url, token, types }: ResumingStreamOptions, after: string | undefined) {
  const query = new URLSearchParams({ ...(after && { after }), ...(types && { types }) });
  return new WebSocket(`${url().replace('http', 'ws')}/api/v1/events/ws?${query}`, {
    headers: { authorization: `Bearer ${await token()}` },
    handshakeTimeout: handshakeMsMax,
  });
}

function pause(failures: number): Promise<void> {
  const waitMs = Math.min(pauseMsMin * 2 ** failures, pauseMsMax) * (0.5 + Math.random() / 2);
  return new Promise((done) => setTimeout(done, waitMs));
}

/** The page contains the position from which the new history continues; the socket protocol has no field for it. */
async function resumeCursorOf(
  { url, token }: ResumingStreamOptions,
  cursor: string | undefined,
): Promise<string | undefined> {
  const query = new URLSearchParams(cursor === undefined ? {} : { cursor });
  const headers = { authorization: `Bearer ${await token()}` };
  const response = await fetch(`${url()}/api/v1/events?${query}`, { headers }).catch(() => undefined);
  if (response?.status !== 410) return cursor;
  const { error } = (await response.json()) as { error: { details: { resumeCursor: string } } };
  return error.details.resumeCursor;
}
