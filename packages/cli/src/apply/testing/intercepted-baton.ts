import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request to Baton. */
interface Intercepted {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly key: string | undefined;
  readonly body: string;
  /** Sends it to Baton with each call. */
  forward(): Promise<Response>;
}

/**
 * A proxy of a Baton.
 * @param intercept gives the response to each request; undefined closes its connection
 */
export async function interceptBaton(
  url: string,
  intercept: (request: Intercepted) => Promise<Response | undefined>,
): Promise<{ url: string; close(): void }> {
  const server = createServer(async (req, res) => {
    const { method = 'GET', url: path = '/' } = req;
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const bytes = new Uint8Array(Buffer.concat(parts));
    const init = { method, headers: headersOf(req.headers), ...(bytes.length > 0 && { body: bytes }) };
    const key = req.headers['idempotency-key'] as string | undefined;
    const body = new TextDecoder().decode(bytes);
    const forward = () => fetch(url + path, init);
    try {
      const response = await intercept({ method, path, key, body, forward });
      if (response === undefined) return void res.destroy();
      const answer = Buffer.from(await response.arrayBuffer());
      const headers = [...response.headers].filter(([name]) => !ofConnection.includes(name));
      res.writeHead(response.status, Object.fromEntries(headers)).end(answer);
    } catch {
      res.destroy();
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Headers that concern one connection and its framing of the body. */
const ofConnection = [
  'host',
  'connection',
  'keep-alive',
  'content-encoding',
  'content-length',
  'transfer-encoding',
];

function headersOf(headers: IncomingHttpHeaders): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => !ofConnection.includes(name));
  return Object.fromEntries(own.map(([name, value]) => [name, String(value)]));
}

/** An error response of the service. */
export const refusal = (status: number, code: string): Response =>
  Response.json(
    { error: { code, message: 'It was refused.', details: {}, requestId: 'req_test' } },
    { status },
  );
