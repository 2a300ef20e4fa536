import { createServer, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RunningService } from '../http/running-service.ts';
import { boundBody } from './body-time.ts';

/** The handlers of a port. */
export type Listening = Pick<RunningService, 'handler' | 'upgrade' | 'unreadable'>;

/**
 * Timeouts and limits. With Node's defaults (60 s for headers, 300 s for a request, checked every 30 s, unlimited
 * connections) slow headers lasted 89 s, and a slow body over 100 s.
 */
export const listenerBounds = {
  /**
   * The timeout from the start of the connection, or from the first byte of a later request, to the end of the headers.
   */
  headersMsMax: 10_000,
  /** The timeout to the end of the body: 1 MiB at 35 KB a second. */
  requestMsMax: 30_000,
  /**
   * The timeout to the end of a body that is a byte stream, once its caller has been authenticated: 100 MiB at 175 KB a
   * second.
   */
  streamMsMax: 600_000,
  /** The timeout between two requests; longer than reverse proxies usually use (60 s), so that they close first. */
  idleMsMax: 65_000,
  /** The timeout without a byte in either direction; longer than any response takes (30 s when waiting for events). */
  silenceMsMax: 120_000,
  /** Leaves room for requests even when streams use 15,000 connections. */
  connectionsMax: 18_000,
  /** How often the first two timeouts are checked. */
  checkEveryMs: 1000,
};

/**
 * Idle connections are closed to make room for new ones, but at most this often, because each time all connections are
 * searched.
 */
const makeRoomEveryMs = 100;

/** Creates the server of every port that Baton opens, with its limits. */
export function createListener(service: Listening, bounds = listenerBounds): Server {
  const options = {
    headersTimeout: bounds.headersMsMax,
    requestTimeout: bounds.streamMsMax,
    keepAliveTimeout: bounds.idleMsMax,
    connectionsCheckingInterval: bounds.checkEveryMs,
  };
  const server = createServer(options, (req, res) => {
    boundBody(server, req, bounds.requestMsMax);
    isolated(res, () => service.handler(req, res));
  });
  server.timeout = bounds.silenceMsMax;
  server.maxConnections = bounds.connectionsMax;
  server.on('upgrade', (req, socket, head) => {
    // Node has removed its own error listener from the socket. Without a listener, a client that disconnects would end
    // the process.
    socket.on('error', () => socket.destroy());
    if (service.upgrade === undefined) refuseUpgrade(socket, '404 Not Found');
    else isolated(socket, () => service.upgrade?.(req, socket, head));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (service.unreadable === undefined) socket.destroy();
    else service.unreadable(error, socket);
  });
  let madeRoomAt = -Infinity;
  server.on('drop', () => {
    if (performance.now() - madeRoomAt < makeRoomEveryMs) return;
    madeRoomAt = performance.now();
    server.closeIdleConnections();
  });
  return server;
}

/**
 * An error in a service closes only the affected connection. If it were rethrown, it would end the process and with it
 * all other connections.
 */
function isolated(connection: { destroy(): unknown }, serve: () => void): void {
  try {
    serve();
  } catch (error) {
    connection.destroy();
    process.emitWarning(error as Error);
  }
}

/** Responds to an upgrade without a body and closes the connection, even if the client would keep it open. */
export function refuseUpgrade(socket: Duplex, status: string): void {
  const end = () => socket.destroy();
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`, end);
}

/** @throws the system's Error if the port can't be opened */
export function openPort(server: Server, host: string, port: number): Promise<void> {
  return new Promise((done, refuse) => {
    server.once('error', refuse);
    server.listen(port, host, () => {
      server.off('error', refuse);
      done();
    });
  });
}
