import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Transport } from '@baton/sdk';
import { offerOf } from '../offer.ts';
import {
  type ClientBounds,
  clientBounds,
  type Refusal,
  type ServedClient,
  ServedClients,
} from './clients.ts';

export interface McpEndpointOptions {
  /** Where this Baton reaches itself: the endpoint is a client as any other. */
  readonly localUrl: string;
  /** How Baton is asked for a client, so that identity's limits count that client; by fetch without it. */
  readonly transport?: (req: IncomingMessage) => Transport;
  /** Where its clients reach it; without it, what they name in Host, which the port has checked. */
  readonly publicUrl: string | undefined;
  /** Who issues the tokens. */
  readonly issuer: string;
  readonly bounds?: Partial<ClientBounds>;
}

/** `/mcp` and what tells clients about it. Host and Origin were checked before, by whoever owns the port. */
export interface McpEndpoint {
  handler(req: IncomingMessage, res: ServerResponse): void;
  /** Gives back every lease, and serves no more. */
  close(): Promise<void>;
}

const metadataPath = '/.well-known/oauth-protected-resource';

/** Whether a request is this endpoint's. */
export function isForMcp(url: string | undefined): boolean {
  const path = url?.split('?', 1)[0];
  return path === '/mcp' || path === metadataPath || path === `${metadataPath}/mcp`;
}

/**
 * Serves MCP over streamable HTTP. The credential is a personal access token, or an access token of coordination; both are
 * Baton's own, and are shown to nobody but Baton.
 */
export function createMcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  const bounds = { ...clientBounds, ...options.bounds };
  const clients = new ServedClients(options.localUrl, bounds);
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
    const client = await clients.find(token, options.transport?.(req));
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
      scopes_supported: ['control-plane:read', 'control-plane:write', 'control-plane:admin'],
      resource_name: 'Baton',
    });
  }

  async function exchange(
    req: IncomingMessage,
    res: ServerResponse,
    { handler }: ServedClient,
    base: string,
  ): Promise<void> {
    try {
      offerOf(req.url ?? '');
    } catch (error) {
      return answer(res, 400, { error: 'invalid_request', error_description: (error as Error).message });
    }
    const body = await bodyOf(req, bounds.bodyBytesMax);
    if (body === 'too long') return answer(res, 413, { error: 'payload_too_large' }, { connection: 'close' });
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    const response = await handler.fetch(
      new Request(new URL(req.url ?? '', base), {
        method: req.method ?? 'GET',
        headers: headersOf(req),
        signal: gone.signal,
        ...(body !== undefined && { body }),
      }),
    );
    await send(res, response);
  }
}

/** Credentials come in the header only: an address is logged and kept. */
function bearerOf({ headers: { authorization = '' } }: IncomingMessage): string | undefined {
  return /^Bearer ([\w.~+/=-]{1,8192})$/i.exec(authorization)?.[1];
}

/** The body of a POST, once its sender is known. How long it may take is bounded by the port. */
async function bodyOf(
  req: IncomingMessage,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer> | 'too long' | undefined> {
  if (req.method !== 'POST') return undefined;
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) return 'too long';
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) return 'too long';
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** What the protocol reads; the credential stays here. */
function headersOf({ headers }: IncomingMessage): Headers {
  const passedOn = Object.entries(headers).filter(
    ([name, value]) => typeof value === 'string' && /^(accept|content-type|last-event-id|mcp-.*)$/.test(name),
  );
  return new Headers(passedOn as [string, string][]);
}

async function send(res: ServerResponse, response: Response): Promise<void> {
  res.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) res.end();
  // A client that goes ends the stream early; there is nobody to tell.
  else
    await pipeline(Readable.fromWeb(response.body as NodeReadableStream<Uint8Array>), res).catch(
      () => undefined,
    );
}

const refusals: Record<Refusal, { status: number; error: string }> = {
  invalid_token: { status: 401, error: 'invalid_token' },
  busy: { status: 429, error: 'too_many_requests' },
  full: { status: 503, error: 'too_many_clients' },
  unavailable: { status: 503, error: 'unavailable' },
};

function refuse(res: ServerResponse, refusal: Refusal, base: string, isPresented: boolean): void {
  const { status, error } = refusals[refusal];
  const challenge = `Bearer resource_metadata="${base}${metadataPath}/mcp"`;
  answer(res, status, isPresented || status !== 401 ? { error } : {}, {
    ...(status === 401
      ? { 'www-authenticate': isPresented ? `${challenge}, error="${error}"` : challenge }
      : { 'retry-after': '1' }),
    connection: 'close',
  });
}

function answer(
  res: ServerResponse,
  status: number,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...headers,
  });
  res.end(JSON.stringify(body));
}
