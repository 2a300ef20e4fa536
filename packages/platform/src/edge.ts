import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningService } from '@baton/kernel/http';
import { failureCode, StartError } from './start-error.ts';

/** The one port in front of both services. */
export interface Edge {
  readonly port: number;
  /** Passes requests on from now on; before, every answer is 503. `/health/ready` stays 503 until `open`. */
  serve(services: EdgeServices): void;
  /** All is set up: readiness is coordination's own again. */
  open(): void;
  /** Takes no new request and waits for those under way, at most this long. */
  drain(waitMs: number): Promise<void>;
  /** Cuts whatever connection is left. */
  close(): void;
}

export interface EdgeServices {
  readonly identity: RunningService;
  readonly coordination: RunningService;
}

const drainPollMs = 20;

/**
 * Takes the port at once, before anything slow, and answers 503 on it until the services are there.
 * @throws StartError when the port or the address can't be had
 */
export async function openEdge(host: string, port: number): Promise<Edge> {
  let services: EdgeServices | undefined;
  let isOpen = false;
  let isDraining = false;
  let requestsUnderWay = 0;
  const upgraded = new Set<Duplex>();
  const server = createServer((req, res) => {
    requestsUnderWay += 1;
    res.once('close', () => {
      requestsUnderWay -= 1;
    });
    const isReadiness = req.url?.split('?', 1)[0] === '/health/ready';
    if (isDraining) unavailable(res, 'stopping');
    else if (services === undefined || (isReadiness && !isOpen)) unavailable(res, 'starting');
    else chooseService(services, req).handler(req, res);
  });
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    socket.on('error', () => socket.destroy());
    const service = services && chooseService(services, req);
    if (service?.upgrade === undefined) socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n');
    else service.upgrade(req, socket, head);
  });
  // Without a path nobody knows whose request it would have been: the envelope is coordination's.
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (services?.coordination.unreadable === undefined) socket.destroy();
    else services.coordination.unreadable(error, socket);
  });
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    serve(running) {
      services = running;
    },
    open() {
      isOpen = true;
    },
    async drain(waitMs) {
      isDraining = true;
      server.close();
      const deadline = performance.now() + waitMs;
      while (requestsUnderWay > 0 && performance.now() < deadline) await sleep(drainPollMs);
    },
    close() {
      for (const socket of upgraded) socket.destroy();
      server.closeAllConnections();
    },
  };
}

/** `/iam` and everything below it is identity's, which never sees the prefix; all else is coordination's. */
function chooseService(services: EdgeServices, req: IncomingMessage): RunningService {
  const [, rest] = /^\/iam(?=[/?]|$)(.*)$/.exec(req.url ?? '') ?? [];
  if (rest === undefined) return services.coordination;
  req.url = rest.startsWith('/') ? rest : `/${rest}`;
  return services.identity;
}

function unavailable(res: ServerResponse, reason: 'starting' | 'stopping'): void {
  res.writeHead(503, {
    'content-type': 'application/json; charset=utf-8',
    'retry-after': '1',
    connection: 'close',
  });
  res.end(JSON.stringify({ status: 'unavailable', reason }));
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(new StartError(whyNotListening(host, port, cause), { cause })));
    server.listen({ host, port }, resolve);
  });
}

function whyNotListening(host: string, port: number, error: Error): string {
  const code = failureCode(error);
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${host} is taken by another program: choose another with PORT, for example PORT=${port + 1} npm start.`;
  if (code === 'EACCES')
    return `Port ${port} needs more rights than you have: choose one above 1023 with PORT, for example PORT=8080 npm start.`;
  return `Baton can't listen on ${host} port ${port} (${code}): HOST must be an address of this machine.`;
}
