import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Console } from '@baton/console/server';
import type { RunningService } from '@baton/kernel/http/running-service';
import { createListener, openPort, refuseUpgrade } from '@baton/kernel/listener/listener';
import { isForMcp } from '@baton/mcp/http/endpoint';
import { newTraceHex } from '@baton/values/ids';
import { invocation } from '../../../bin/invocation.mjs';
import { openTwin } from './localhost-twin.ts';
import { type ManagementPolicy, rejectManagementRequest } from './management-policy.ts';
import { type OriginPolicy, type Rejection, rejectForeignRequest } from './origin-policy.ts';
import { everyAddress } from './own-addresses.ts';
import { sendPage, showUnknownPage, wantsPage } from './plain-page.ts';
import { failureCode, StartError } from './start-error.ts';

/**
 * The port in front of both services. Requests below /iam go to identity, pages to the console, all others to
 * coordination.
 */
export interface Router {
  readonly port: number;
  /**
   * Whether browsers that open `localhost` reach this port: some connect to ::1 first, where another program may
   * listen.
   */
  readonly isAtLocalhost: boolean;
  /** Starts routing; until then, every response is 503. `/health/ready` stays 503 until `markReady`. */
  routeTo(services: RoutedServices): void;
  /** Called after the bootstrap; from then on, coordination handles `/health/ready`. */
  markReady(): void;
  /** Rejects new requests and waits for those in progress, but at most this long. */
  drain(waitMs: number): Promise<void>;
  /** Closes the remaining connections. */
  close(): void;
}

export interface RoutedServices {
  readonly identity: RunningService;
  readonly coordination: RunningService;
  /** The console, which takes precedence over the services. */
  readonly console?: Pick<Console, 'handle'>;
  /** Handles `/mcp`, if present. */
  readonly mcp?: RunningService;
}

const drainPollMs = 20;

/**
 * Listens on the port before any slow step, and responds with 503 until the services run.
 * @param policy rejects requests before any service: 421 for a wrong Host, 403 for a wrong Origin
 * @param management rejects operator requests from other addresses with 403; without it, the secret is sufficient
 * @throws StartError if it can't listen on the port or the address
 */
export async function openRouter(
  host: string,
  port: number,
  policy: OriginPolicy,
  management?: ManagementPolicy,
): Promise<Router> {
  let services: RoutedServices | undefined;
  let isReady = false;
  let isDraining = false;
  let requestsInProgress = 0;
  const upgraded = new Set<Duplex>();
  const server = createListener({
    handler(req, res) {
      requestsInProgress += 1;
      res.once('close', () => {
        requestsInProgress -= 1;
      });
      const isReadiness = req.url?.split('?', 1)[0] === '/health/ready';
      const rejection =
        rejectForeignRequest(req.headers, policy) ?? (management && rejectManagementRequest(req, management));
      if (rejection !== undefined) return sendRejection(req, res, rejection);
      if (isDraining) return unavailable(req, res, 'stopping');
      if (services === undefined || (isReadiness && !isReady)) return unavailable(req, res, 'starting');
      if (services.console?.handle(req, res) === true) return;
      if (wantsPage(req)) showUnknownPage(req, res);
      chooseService(services, req).handler(req, res);
    },
    upgrade(req, socket, head) {
      upgraded.add(socket);
      socket.once('close', () => upgraded.delete(socket));
      const rejection = rejectForeignRequest(req.headers, policy);
      if (rejection !== undefined)
        return refuseUpgrade(socket, `${rejection.status} ${STATUS_CODES[rejection.status] as string}`);
      const service = services && chooseService(services, req);
      if (service?.upgrade === undefined) refuseUpgrade(socket, '404 Not Found');
      else service.upgrade(req, socket, head);
    },
    // The path of a request that can't be parsed is unknown, so coordination handles it.
    unreadable(error, socket) {
      if (services?.coordination.unreadable === undefined) socket.destroy();
      else services.coordination.unreadable(error, socket);
    },
  });
  await openPort(server, host, port).catch((cause: Error) => {
    throw new StartError(listenFailure(host, port, cause), { cause });
  });
  const { port: opened } = server.address() as AddressInfo;
  const twin = host === '127.0.0.1' ? await openTwin(server, opened) : undefined;
  return {
    port: opened,
    isAtLocalhost: twin?.isTaken === false || everyAddress.includes(host),
    routeTo(running) {
      services = running;
    },
    markReady() {
      isReady = true;
    },
    async drain(waitMs) {
      isDraining = true;
      server.close();
      twin?.server?.close();
      const deadline = performance.now() + waitMs;
      while (requestsInProgress > 0 && performance.now() < deadline) await sleep(drainPollMs);
    },
    close() {
      twin?.server?.close();
      for (const socket of upgraded) socket.destroy();
      server.closeAllConnections();
    },
  };
}

/** The path of the issuer's metadata (RFC 8414), followed by the issuer's own path, `/iam`. */
const issuerMetadata = /^\/\.well-known\/oauth-authorization-server(?=[/?]|$)/;

/**
 * Routes `/iam` and everything below, without the prefix, and the issuer's metadata to identity, `/mcp` to its own
 * handler, and everything else to coordination.
 */
function chooseService(services: RoutedServices, req: IncomingMessage): RunningService {
  if (services.mcp !== undefined && isForMcp(req.url)) return services.mcp;
  if (issuerMetadata.test(req.url ?? '')) return services.identity;
  const [, rest] = /^\/iam(?=[/?]|$)(.*)$/.exec(req.url ?? '') ?? [];
  if (rest === undefined) return services.coordination;
  req.url = rest.startsWith('/') ? rest : `/${rest}`;
  return services.identity;
}

function sendRejection(req: IncomingMessage, res: ServerResponse, { status, code, reason }: Rejection): void {
  const headers = { connection: 'close' };
  if (wantsPage(req))
    return sendPage(req, res, { status, title: STATUS_CODES[status] as string, text: reason }, headers);
  sendRefusal(res, status, { status: 'refused', reason, error: errorOf(code, reason) }, headers);
}

function unavailable(req: IncomingMessage, res: ServerResponse, reason: 'starting' | 'stopping'): void {
  const error = errorOf('unavailable', `Baton is ${reason}. Try again in a few seconds.`);
  const headers = { 'retry-after': '1', connection: 'close' };
  if (wantsPage(req)) {
    const page = { status: 503, title: `Baton is ${reason}`, text: 'This page reloads automatically.' };
    return sendPage(req, res, page, { ...headers, refresh: '2' });
  }
  sendRefusal(res, 503, { status: 'unavailable', reason, error }, headers);
}

/** An error in coordination's format. */
function errorOf(code: string, message: string) {
  return { code, message, details: {}, requestId: `req_${newTraceHex()}` };
}

function sendRefusal(
  res: ServerResponse,
  status: number,
  body: { readonly status: string; readonly reason: string; readonly error: ReturnType<typeof errorOf> },
  headers: Readonly<Record<string, string>>,
): void {
  res.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': body.error.requestId,
    ...headers,
  });
  res.end(JSON.stringify(body));
}

function listenFailure(host: string, port: number, error: Error): string {
  const code = failureCode(error);
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${host} is already in use. Choose another one with PORT, for example PORT=${port + 1} ${invocation()} start.`;
  if (code === 'EACCES')
    return `Permission denied for port ${port}. Choose one above 1023 with PORT, for example PORT=8080 ${invocation()} start.`;
  return `Cannot listen on ${host} port ${port} (${code}). HOST must be an address of this machine.`;
}
