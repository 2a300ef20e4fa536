import { Agent, type IncomingHttpHeaders, request } from 'node:http';

/** A raw request, because `fetch` would refuse some requests, such as a GET with a body, and add headers to others. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Declares a body of this many bytes and sends none of it. */
  readonly declaredBytes?: number;
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed JSON text; undefined if it isn't JSON. */
  readonly body: unknown;
}

export interface Client {
  send(sent: Sent): Promise<Received>;
  close(): void;
}

export function createClient(url: string): Client {
  const agent = new Agent({ keepAlive: true });
  return {
    send: (sent) => send(url, agent, sent),
    close: () => agent.destroy(),
  };
}

/**
 * A hanging request fails with its own error before the test times out. Even on a busy machine, a response arrives
 * within seconds.
 */
const answerWaitMs = 60_000;

function send(
  url: string,
  agent: Agent,
  { method, path, headers = {}, body, declaredBytes }: Sent,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const length = declaredBytes ?? (body === undefined ? undefined : Buffer.byteLength(body));
    const outgoing = request(`${url}${path}`, {
      method,
      // A separate connection: a body that never arrives would leave the shared one unusable for the next request.
      agent: declaredBytes === undefined ? agent : false,
      headers: {
        ...(length === undefined
          ? {}
          : { 'content-length': String(length), 'content-type': 'application/json' }),
        ...headers,
      },
    });
    outgoing.on('error', reject);
    outgoing.setTimeout(answerWaitMs, () => outgoing.destroy(new Error(`no answer in ${answerWaitMs} ms`)));
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: readJson(text) });
        if (declaredBytes !== undefined) outgoing.destroy();
      });
    });
    if (declaredBytes !== undefined) outgoing.flushHeaders();
    else outgoing.end(body);
  });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
