import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PlainError } from '../plain-error.ts';
import {
  type AuthorizationServer,
  clientId,
  type GrantedTokens,
  OauthFailure,
  postForm,
  requestTokens,
  scope,
} from './authorization-server.ts';

const waitMsMax = 600_000;
const pollSecondsMin = 1;
const slowDownSeconds = 5;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/**
 * Signs in through the browser of this machine, which returns to a port of the loopback address (RFC 8252).
 * @param show called with the address to open
 */
export async function signInByBrowser(
  server: AuthorizationServer,
  show: (address: string) => Promise<void>,
): Promise<GrantedTokens> {
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(24).toString('base64url');
  const receiver = await openReceiver(state, server.issuer);
  try {
    const redirectUri = `http://127.0.0.1:${receiver.port}/callback`;
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    await show(`${server.authorizationEndpoint}?${query}`);
    const code = await receiver.code;
    return await requestTokens(server.tokenEndpoint, {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    });
  } finally {
    receiver.close();
  }
}

interface Receiver {
  readonly port: number;
  readonly code: Promise<string>;
  close(): void;
}

/**
 * Accepts one response: with this state, and from this issuer (RFC 9207), so that no other server's code is sent to
 * ours.
 */
async function openReceiver(state: string, issuer: string): Promise<Receiver> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // Awaited only after the browser has been opened.
  promise.catch(() => undefined);
  const timer = setTimeout(() => reject(new PlainError('Nobody signed in within 10 minutes.')), waitMsMax);
  const server = createServer((req, res) => {
    // Any page in the browser can send a request here, including one with an invalid address such as `//`.
    const address = URL.parse(req.url ?? '/', 'http://127.0.0.1');
    if (req.method !== 'GET' || address?.pathname !== '/callback') return answer(req, res, 404, 'Not found.');
    const { searchParams } = address;
    if (searchParams.get('state') !== state || searchParams.get('iss') !== issuer)
      return answer(req, res, 400, 'This response does not belong to the sign-in of this terminal.');
    const [code, error] = [searchParams.get('code'), searchParams.get('error')];
    if (code !== null) {
      answer(req, res, 200, 'You are signed in. Return to the terminal; you can close this page.');
      return resolve(code);
    }
    answer(req, res, 200, 'You are not signed in. Return to the terminal; you can close this page.');
    reject(signInFailure(error ?? 'invalid_response'));
  });
  // A connection that another program keeps open must not keep the command running after the sign-in.
  server.on('connection', (socket) => socket.unref());
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(0, '127.0.0.1', done);
  });
  return {
    port: (server.address() as AddressInfo).port,
    code: promise,
    close() {
      clearTimeout(timer);
      server.close();
      server.closeIdleConnections();
    },
  };
}

function answer(_req: IncomingMessage, res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  res.end(`${text}\n`);
}

/** The code that the user enters in a browser elsewhere. */
export interface DeviceCode {
  readonly userCode: string;
  readonly page: string;
  readonly pageWithCode: string;
}

/** Signs in through a browser on another machine (RFC 8628). @param show called with the code */
export async function signInByDevice(
  server: AuthorizationServer,
  show: (code: DeviceCode) => Promise<void>,
): Promise<GrantedTokens> {
  const started = await postForm(server.deviceEndpoint, { client_id: clientId, scope });
  await show({
    userCode: String(started['user_code']),
    page: String(started['verification_uri']),
    pageWithCode: String(started['verification_uri_complete']),
  });
  let seconds = Math.max(pollSecondsMin, Number(started['interval']) || slowDownSeconds);
  const endsMs = performance.now() + Math.min(waitMsMax, (Number(started['expires_in']) || 0) * 1000);
  while (performance.now() < endsMs) {
    await new Promise((done) => setTimeout(done, seconds * 1000));
    try {
      return await requestTokens(server.tokenEndpoint, {
        grant_type: deviceGrant,
        device_code: String(started['device_code']),
      });
    } catch (error) {
      if (!(error instanceof OauthFailure)) throw error;
      if (error.code === 'slow_down') seconds += slowDownSeconds;
      else if (error.code !== 'authorization_pending') throw signInFailure(error.code);
    }
  }
  throw new PlainError('Nobody entered the code in time. Run the command again for a new one.');
}

function signInFailure(code: string): PlainError {
  if (code === 'access_denied') return new PlainError('The sign-in was refused in the browser.');
  if (code === 'expired_token')
    return new PlainError('Nobody entered the code in time. Run the command again for a new one.');
  return new PlainError(
    `The sign-in failed: the authorization server returned ${JSON.stringify(code.slice(0, 100))}.`,
  );
}
