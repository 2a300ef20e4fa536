import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Transport } from '@baton/sdk';
import { listenedIn } from '../listeners.ts';
import { readOffer } from '../offer.ts';
import { announces } from '../server.ts';
import { Bodies, messageIn } from './bodies.ts';
import { type ClientBounds, clientBounds, type ServedClient, ServedClients } from './clients.ts';
import { answer, metadataPath, refuse, refuseBody, scopes } from './refusals.ts';
import { Turns } from './turns.ts';

export interface McpEndpointOptions {
  /** The address at which this Baton reaches itself: the endpoint is a client like any other. */
  readonly localUrl: string;
  /** Sends the calls of a client, so that identity's limits count that client; fetch by default. */
  readonly transport?: (req: IncomingMessage) => Transport;
  /** The key under which a client's requests are counted before its token is known: its address, or its network. */
  readonly countedAs: (req: IncomingMessage) => string;
  /** The public address; by default the Host header, which the port has validated. */
  readonly publicUrl: string | undefined;
  /** The issuer of the tokens. */
  readonly issuer: string;
  readonly bounds?: Partial<ClientBounds>;
}

/** `/mcp` and its metadata. The owner of the port validates Host and Origin first. */
export interface McpEndpoint {
  handler(req: IncomingMessage, res: ServerResponse): void;
  /** Releases every lease and stops serving requests. */
  close(): Promise<void>;
}

/** Whether a request belongs to this endpoint. */
export function isForMcp(url: string | undefined): boolean {
  const path = url?.split('?', 1)[0];
  return path === '/mcp' || path === metadataPath || path === `${metadataPath}/mcp`;
}

/**
 * Serves MCP over streamable HTTP. The credential is a personal access token, or an access token of coordination; Baton
 * issues both, and they are sent to no other service.
 */
export function createMcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  const bounds = { ...clientBounds, ...options.bounds };
  const turns = new Turns();
  const bodies = new Bodies(bounds);
  const clients = new ServedClients(options.localUrl, bounds, turns);
  let isClosed = false;
  return {
    handler(req, res) {
      serve(req, res).catch(() => {
        if (res.headersSent) res.destroy();
        else answer(res, 500, { error: 'server_error' }, { connection: 'close' });
      });
    },
    async close() {
      isClosed = true;
      await clients.close();
    },
  };

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const base = options.publicUrl?.replace(/\/+$/, '') ?? `http://${req.headers.host ?? 'localhost'}`;
    if (!req.url?.startsWith('/mcp')) return metadata(req, res, base);
    if (isClosed) return refuse(res, 'unavailable', base, false);
    const token = bearerOf(req);
    if (token === undefined)
      return refuse(res, 'invalid_token', base, req.headers.authorization !== undefined);
    const client = await clients.find(token, options.countedAs(req), options.transport?.(req));
    if (typeof client === 'string') return refuse(res, client, base, true);
    if (client.requests >= bounds.requestsMax) return refuse(res, 'busy', base, true);
    client.requests += 1;
    try {
      await exchange(req, res, client, base);
    } finally {
      client.requests -= 1;
    }
  }

  function metadata(req: IncomingMessage, res: ServerResponse, base: string): void {
    if (req.method !== 'GET' && req.method !== 'HEAD')
      return answer(res, 405, { error: 'method_not_allowed' }, { allow: 'GET, HEAD' });
    answer(res, 200, {
      resource: `${base}/mcp`,
      authorization_servers: [options.issuer],
      bearer_methods_supported: ['header'],
      scopes_supported: scopes,
      resource_name: 'Baton',
      // A browser gets a page that explains how to add a token.
      resource_documentation: `${base}/mcp`,
    });
  }

  async function exchange(
    req: IncomingMessage,
    res: ServerResponse,
    { handler, journal, principalId, kind, permissions, workplace, expiresAtMs }: ServedClient,
    base: string,
  ): Promise<void> {
    let offer: ReturnType<typeof readOffer>;
    try {
      offer = readOffer(req.url ?? '');
    } catch (error) {
      return answer(res, 400, { error: 'invalid_request', error_description: (error as Error).message });
    }
    const done = new AbortController();
    res.once('close', () => done.abort());
    try {
      const body = req.method === 'POST' ? await bodies.read(req, principalId, done.signal) : undefined;
      if (typeof body === 'string') return refuseBody(res, body, base);
      await turns.take(principalId);
      if (done.signal.aborted) return;
      const parsedBody = body && messageIn(body);
      if (parsedBody === 'not_a_message') return refuseBody(res, parsedBody, base);
      if (workplace.hear(parsedBody) && announces(offer, kind, permissions)) workplace.announce();
      const uris = listenedIn(parsedBody);
      if (uris !== undefined) {
        // A client whose stream ends reconnects, and refreshes its access token to do so.
        const timer = setTimeout(() => done.abort(), Math.min(bounds.listenMsMax, expiresAtMs - Date.now()));
        const stop = await journal.listen(uris, () => done.abort()).catch(() => () => undefined);
        ended(done.signal, () => {
          clearTimeout(timer);
          stop();
        });
      }
      const request = new Request(new URL(req.url ?? '', base), {
        method: req.method ?? 'GET',
        headers: headersOf(req),
        signal: done.signal,
      });
      await send(res, await handler.fetch(request, { parsedBody }));
    } finally {
      done.abort();
    }
  }
}

function ended(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
}

/** Only the header may hold credentials, because addresses are logged and stored. */
function bearerOf({ headers: { authorization = '' } }: IncomingMessage): string | undefined {
  return /^Bearer ([\w.~+/=-]{1,8192})$/i.exec(authorization)?.[1];
}

/** The headers that the protocol reads, without the credential. */
function headersOf({ headers }: IncomingMessage): Headers {
  const passedOn = Object.entries(headers).filter(
    ([name, value]) => typeof value === 'string' && /^(accept|content-type|last-event-id|mcp-.*)$/.test(name),
  );
  return new Headers(passedOn as [string, string][]);
}

async function send(res: ServerResponse, response: Response): Promise<void> {
  res.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) res.end();
  // A client that disconnects ends the stream early, and the resulting error is irrelevant.
  else
    await pipeline(Readable.fromWeb(response.body as NodeReadableStream<Uint8Array>), res).catch(
      () => undefined,
    );
}
