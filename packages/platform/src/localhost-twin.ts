import type { Server as HttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { failureCode } from './start-error.ts';

/**
 * Listens on ::1 for a server on 127.0.0.1. Browsers use passkeys only at `localhost`, and may connect to ::1 first: a
 * program of another user that listens there would receive the codes that sign people in.
 * @returns `isTaken` if another program listens on that port of ::1; no server on a machine without IPv6
 */
export function openTwin(
  http: HttpServer,
  port: number,
): Promise<{ readonly server?: Server; readonly isTaken: boolean }> {
  const server = createServer((socket) => void http.emit('connection', socket));
  server.maxConnections = http.maxConnections;
  return new Promise((done) => {
    server.once('error', (error) => done({ isTaken: failureCode(error) === 'EADDRINUSE' }));
    server.listen(port, '::1', () => done({ server, isTaken: false }));
  });
}

/** The address of the console for browsers on this machine, which don't accept passkeys at an IP address. */
export function localhostUrl(url: string): string {
  return url.replace(/^(https?:\/\/)(127(?:\.\d+){3}|\[::1\])(?=[:/]|$)/, '$1localhost');
}
