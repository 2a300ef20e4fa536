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
import { type Door, type TurnedAway, turnAway } from './door.ts';
import { type ManagementDoor, turnAwayManagement } from './management-door.ts';
import { sendPage, showUnknownPage, wantsPage } from './plain-page.ts';
import { failureCode, StartError } from './start-error.ts';

/** The one port in front of both services: requests below /iam are identity's, pages the console's, all others coordination's. */
export interface Router {
  readonly port: number;
  /** From now on requests are passed on; before, every answer is 503. `/health/ready` stays 503 until `markReady`. */
  routeTo(services: RoutedServices): void;
  /** The bootstrap is done: from now on `/health/ready` is coordination's answer. */
  markReady(): void;
  /** Takes no new request and waits for those in progress, at most this long. */
  drain(waitMs: number): Promise<void>;
  /** Closes the connections that are left. */
  close(): void;
}

export interface RoutedServices {
  readonly identity: RunningService;
  readonly coordination: RunningService;
  /** The pages for people, asked before the services. */
  readonly console?: Pick<Console, 'handle'>;
  /** Takes `/mcp`; absent: there is none. */
  readonly mcp?: RunningService;
}

const drainPollMs = 20;

/**
 * Listens on the port before anything slow happens, and answers 503 until the services run.
 * @param door what is turned away before any service sees it: 421 for a wrong Host, 403 for a wrong Origin
 * @param management who may use what is for those who run Baton, else 403; without it everybody may who has the secret
 * @throws StartError when it can't listen on the port or the address
 */
export async function openRouter(
  host: string,
  port: number,
  door: Door,
  management?: ManagementDoor,
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
      const away = turnAway(req.headers, door) ?? (management && turnAwayManagement(req, management));
      if (away !== undefined) return sendAway(req, res, away);
      if (isDraining) return unavailable(req, res, 'stopping');
      if (services === undefined || (isReadiness && !isReady)) return unavailable(req, res, 'starting');
      if (services.console?.handle(req, res) === true) return;
      if (wantsPage(req)) showUnknownPage(req, res);
      chooseService(services, req).handler(req, res);
    },
    upgrade(req, socket, head) {
      upgraded.add(socket);
      socket.once('close', () => upgraded.delete(socket));
      const away = turnAway(req.headers, door);
      if (away !== undefined)
        return refuseUpgrade(socket, `${away.status} ${STATUS_CODES[away.status] as string}`);
      const service = services && chooseService(services, req);
      if (service?.upgrade === undefined) refuseUpgrade(socket, '404 Not Found');
      else service.upgrade(req, socket, head);
    },
    // A request that can't be parsed has no path to route by, so coordination answers it.
    unreadable(error, socket) {
      if (services?.coordination.unreadable === undefined) socket.destroy();
      else services.coordination.unreadable(error, socket);
    },
  });
  await openPort(server, host, port).catch((cause: Error) => {
    throw new StartError(listenFailure(host, port, cause), { cause });
  });
  return {
    port: (server.address() as AddressInfo).port,
    routeTo(running) {
      services = running;
    },
    markReady() {
      isReady = true;
    },
    async drain(waitMs) {
      isDraining = true;
      server.close();
      const deadline = performance.now() + waitMs;
      while (requestsInProgress > 0 && performance.now() < deadline) await sleep(drainPollMs);
    },
    close() {
      for (const socket of upgraded) socket.destroy();
      server.closeAllConnections();
    },
  };
}

/** The path of an issuer's metadata by RFC 8414, followed by the issuer's own path, `/iam`. */
const issuerMetadata = /^\/\.well-known\/oauth-authorization-server(?=[/?]|$)/;

/**
 * `/iam` and all below it is identity's, which doesn't see the prefix, and so are the metadata of the issuer; `/mcp` has its own;
 * everything else is coordination's.
 */
function chooseService(services: RoutedServices, req: IncomingMessage): RunningService {
  if (services.mcp !== undefined && isForMcp(req.url)) return services.mcp;
  if (issuerMetadata.test(req.url ?? '')) return services.identity;
  const [, rest] = /^\/iam(?=[/?]|$)(.*)$/.exec(req.url ?? '') ?? [];
  if (rest === undefined) return services.coordination;
  req.url = rest.startsWith('/') ? rest : `/${rest}`;
  return services.identity;
}

function sendAway(req: IncomingMessage, res: ServerResponse, { status, code, reason }: TurnedAway): void {
  const headers = { connection: 'close' };
  if (wantsPage(req))
    return sendPage(req, res, { status, title: STATUS_CODES[status] as string, text: reason }, headers);
  sendRefusal(res, status, { status: 'refused', reason, error: errorOf(code, reason) }, headers);
}

function unavailable(req: IncomingMessage, res: ServerResponse, reason: 'starting' | 'stopping'): void {
  const error = errorOf('unavailable', `Baton is ${reason}: try again in a few seconds.`);
  const headers = { 'retry-after': '1', connection: 'close' };
  if (wantsPage(req)) {
    const page = { status: 503, title: `Baton is ${reason}`, text: 'This page tries again by itself.' };
    return sendPage(req, res, page, { ...headers, refresh: '2' });
  }
  sendRefusal(res, 503, { status: 'unavailable', reason, error }, headers);
}

/** In the form of coordination's errors. */
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
    return `Port ${port} on ${host} is used by another program: choose another with PORT, for example PORT=${port + 1} ${invocation()} start.`;
  if (code === 'EACCES')
    return `Port ${port} needs more rights than you have: choose one above 1023 with PORT, for example PORT=8080 ${invocation()} start.`;
  return `Baton can't listen on ${host} port ${port} (${code}): HOST must be an address of this machine.`;
}
