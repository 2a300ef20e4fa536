import { WebSocket } from 'ws';

export interface StreamedEvent {
  id: string;
  type: string;
  cursor: string;
  sequence: number;
}

/** A client of the event stream that stores the received events. */
export interface StreamClient {
  readonly ws: WebSocket;
  readonly events: StreamedEvent[];
  /** Resolves after the given number of events; rejects after a minute. */
  received(count: number, waitMs?: number): Promise<StreamedEvent[]>;
  /** Resolves with the reason for the stream's end. */
  readonly ended: Promise<{ code: number; reason: string }>;
  close(): Promise<void>;
}

export interface StreamClientOptions {
  token?: string;
  /** The query, with its `?`. */
  query?: string;
  protocols?: string[];
}

export function openStream(url: string, options: StreamClientOptions = {}): StreamClient {
  const ws = new WebSocket(
    `${url.replace('http', 'ws')}/api/v1/events/ws${options.query ?? ''}`,
    options.protocols ?? [],
    options.token === undefined ? {} : { headers: { authorization: `Bearer ${options.token}` } },
  );
  const events: StreamedEvent[] = [];
  ws.on('message', (data) => events.push(JSON.parse(String(data)) as StreamedEvent));
  ws.on('error', () => undefined);
  const ended = new Promise<{ code: number; reason: string }>((done) => {
    ws.once('close', (code, reason) => done({ code, reason: String(reason) }));
  });
  return {
    ws,
    events,
    ended,
    async received(count, waitMs = 60_000) {
      for (const until = performance.now() + waitMs; events.length < count; ) {
        if (performance.now() > until)
          throw new Error(`${events.length} events arrived instead of ${count} within ${waitMs} ms`);
        await new Promise((done) => setTimeout(done, 2));
      }
      return events;
    },
    async close() {
      if (ws.readyState === ws.CONNECTING) ws.terminate();
      else ws.close();
      await ended;
    },
  };
}
