import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyRefusal } from './bodies.ts';
import { clientBounds, type Refusal } from './clients.ts';

/** The metadata of the endpoint's authorization, for clients (RFC 9728). */
export const metadataPath = '/.well-known/oauth-protected-resource';

/** The scopes that a client needs to work on tasks. */
export const scopes = ['control-plane:read', 'control-plane:write'];

const refusals: Record<Refusal, { status: number; error: string }> = {
  invalid_token: { status: 401, error: 'invalid_token' },
  busy: { status: 429, error: 'too_many_requests' },
  full: { status: 503, error: 'too_many_clients' },
  unavailable: { status: 503, error: 'unavailable' },
};

/** Rejects a request. Without a valid token, the response explains how to add one; a browser gets a page. */
export function refuse(res: ServerResponse, refusal: Refusal, base: string, isPresented: boolean): void {
  const { status, error } = refusals[refusal];
  const challenge = `Bearer resource_metadata="${base}${metadataPath}/mcp", scope="${scopes.join(' ')}"`;
  if (status !== 401) return answer(res, status, { error }, { 'retry-after': '1', ...kept(res.req) });
  const headers = {
    'www-authenticate': isPresented ? `${challenge}, error="${error}"` : challenge,
    ...kept(res.req),
  };
  const isBrowser = res.req.headers.accept?.includes('text/html') === true;
  if (isBrowser) return answerPage(res, headers);
  // RFC 6750: without a credential there is no error in the challenge.
  answer(
    res,
    status,
    { error: isPresented ? error : 'token_required', error_description: addToken },
    headers,
  );
}

const addToken =
  'Sign in by browser if your MCP client offers it. Otherwise add a token: send the header "Authorization: Bearer TOKEN" with a personal access token of the agent. The configuration of your MCP client has a setting for headers.';

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Baton for agents that speak MCP</title>
<h1>Baton for agents that speak MCP</h1>
<p>This address is for MCP clients: add it to a client as an HTTP server.</p>
<p>${addToken.replaceAll('"', '&quot;')}</p>
<p>docs/mcp.md in Baton's repository shows the configuration of each client, and docs/agents.md how to create an agent and its token.
<code>baton mcp --config CLIENT</code> prints one for this machine.</p>
`;

function answerPage(res: ServerResponse, headers: Record<string, string>): void {
  res.writeHead(401, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  res.end(page);
}

/**
 * Keeps the connection open if the rest of the request is small enough to be discarded. When 1,000 rejected clients had
 * to reconnect, they filled the queue of new connections, and other clients waited 6 s.
 */
function kept({ headers }: IncomingMessage): { connection?: 'close' } {
  return Number(headers['content-length'] ?? Infinity) <= clientBounds.bodyBytesMax
    ? {}
    : { connection: 'close' };
}

export function refuseBody(res: ServerResponse, refusal: BodyRefusal, base: string): void {
  if (refusal === 'busy' || refusal === 'full') return refuse(res, refusal, base, true);
  if (refusal === 'too_long')
    return answer(res, 413, { error: 'payload_too_large' }, { connection: 'close' });
  answer(res, 400, {
    jsonrpc: '2.0',
    error: {
      code: -32_600,
      message: 'A request holds one JSON message of at most 4000 values and 64 levels; batches are rejected.',
    },
    id: null,
  });
}

export function answer(
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
