import http from 'node:http';
import https from 'node:https';
import type { JournalEvent } from '../journal/event.ts';
import { cloudEventOf, cloudEventType } from './cloud-event.ts';
import { signatureHeaders } from './signature.ts';
import { failureCodeOf, type Sink, SinkAway } from './sink.ts';

export interface Webhook extends Pick<Sink, 'name' | 'filter' | 'concurrency' | 'timeoutMs'> {
  readonly url: URL;
  /** The request is signed with each secret; the receiver needs only one of them. */
  readonly secrets: readonly Buffer[];
}

/** Only the receiver's status matters; if the response is longer than this, the connection is closed. */
const answerBytesMax = 65_536;
/** The pause after a receiver has unsubscribed (410). */
const gonePauseMs = 300_000;

/**
 * Posts each event as a CloudEvent (structured mode), signed by the Standard Webhooks scheme. 2xx counts as delivered;
 * redirects are not followed. 429, 502, 503 and 504 pause the sink (`Retry-After` is respected), and 410 pauses it for
 * longer; every other status is a failed delivery of that event. The address is the operator's own, so any host is
 * allowed.
 */
export function openWebhookSink({ url, secrets, ...common }: Webhook): Sink {
  const transport = url.protocol === 'https:' ? https : http;
  const agent = new transport.Agent({ keepAlive: true, maxSockets: common.concurrency });
  return {
    ...common,
    async deliver(event, signal) {
      const body = JSON.stringify(cloudEventOf(event));
      const answer = await post(body, event, signal);
      refuseUndelivered(answer);
    },
    close: () => Promise.resolve(agent.destroy()),
  };

  function post(body: string, { id }: JournalEvent, signal: AbortSignal): Promise<Answer> {
    const atSeconds = Math.floor(Date.now() / 1000);
    const headers = {
      'content-type': cloudEventType,
      'content-length': Buffer.byteLength(body),
      'user-agent': 'baton',
      ...signatureHeaders({ id, body, atSeconds }, secrets),
    };
    return exchange(() => transport.request(url, { method: 'POST', agent, headers, signal }), body);
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Sends one request, and repeats it once if a reused connection turns out to be closed. */
async function exchange(open: () => http.ClientRequest, body: string): Promise<Answer> {
  const first = await attempt(open(), body);
  if (!('isStale' in first)) return first;
  const second = await attempt(open(), body);
  if ('isStale' in second) throw new SinkAway('the connection was closed');
  return second;
}

function attempt(request: http.ClientRequest, body: string): Promise<Answer | { isStale: true }> {
  return new Promise((resolve, reject) => {
    let isConnected = false;
    request.on('socket', (socket) => {
      // A reused socket is connected already, and still has the listeners of its first request.
      if (request.reusedSocket) isConnected = true;
      else
        socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
          isConnected = true;
        });
    });
    request.on('response', (response) => {
      resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
      discard(response);
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      if (isStale) resolve({ isStale });
      else reject(failureOf(error, isConnected));
    });
    // If the receiver switches protocols (101), the connection ends with neither a response nor an error.
    request.on('close', () => reject(new Error('the connection was closed without a response')));
    request.end(body);
  });
}

/** Reads the response to its end, so that the connection can be reused. */
function discard(response: http.IncomingMessage): void {
  let bytes = 0;
  response.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > answerBytesMax) response.destroy();
  });
  response.on('error', () => undefined);
}

function failureOf(error: Error, isConnected: boolean): Error {
  const reason = error.name === 'AbortError' ? 'no connection in time' : failureCodeOf(error);
  return isConnected ? new Error(reason, { cause: error }) : new SinkAway(reason, { cause: error });
}

/** @throws SinkAway, Error */
function refuseUndelivered({ status, retryAfter }: Answer): void {
  if (status >= 200 && status < 300) return;
  const text = `answered ${status}`;
  if (status === 410) throw new SinkAway(`${text}: the receiver has unsubscribed`, { pauseMs: gonePauseMs });
  if ([429, 502, 503, 504].includes(status))
    throw new SinkAway(text, { pauseMs: pauseMsOf(retryAfter), blame: status === 429 ? 'sink' : 'unclear' });
  throw new Error(text);
}

/** `Retry-After` is a number of seconds or a date. */
function pauseMsOf(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
