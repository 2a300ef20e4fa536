import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request that the stub received. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** The stub's response. `hang up` closes the connection without a response; a function writes the response itself. */
export type StubAnswer =
  | ((response: ServerResponse) => void)
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | 'hang up'
  | 'silence';

export interface StubService {
  readonly url: string;
  readonly received: Received[];
  close(): Promise<void>;
}

/** Replaces both services: `answer` returns each response; an exchange of a token succeeds by default. */
export async function startStub(
  answer: (request: Received) => StubAnswer,
  exchange?: (tokens: number) => StubAnswer,
): Promise<StubService> {
  const received: Received[] = [];
  let tokens = 0;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const { method = '', url = '', headers } = request;
    const isJson = headers['content-type']?.includes('json') === true;
    const got: Received = {
      method,
      url,
      headers,
      body: text !== '' && isJson ? JSON.parse(text) : undefined,
    };
    received.push(got);
    const isExchange = url.endsWith(':exchange') || url.endsWith('/tokens/exchange');
    if (isExchange) tokens += 1;
    const issued: StubAnswer = { status: 200, body: { accessToken: `token-${tokens}`, expiresIn: 300 } };
    const given = isExchange ? (exchange?.(tokens) ?? issued) : answer(got);
    if (typeof given === 'function') return given(response);
    if (given === 'hang up') return void request.socket.destroy();
    if (given === 'silence') return;
    response.writeHead(given.status, { 'content-type': 'application/json', ...given.headers });
    response.end(given.body === undefined ? '' : JSON.stringify(given.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
