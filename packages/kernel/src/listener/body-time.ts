import type { IncomingMessage, Server } from 'node:http';

const bodyTimers = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/**
 * Node has a single timeout for all bodies. This is the shorter timeout of bodies that haven't been granted more time.
 */
export function boundBody(server: Server, req: IncomingMessage, ms: number): void {
  const { headers } = req;
  if (headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0') return;
  const timer = setTimeout(() => {
    if (req.complete) return;
    const late = Object.assign(new Error('The body timed out'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.emit('clientError', late, req.socket);
  }, ms);
  timer.unref();
  bodyTimers.set(req, timer);
  req.once('close', () => clearTimeout(timer));
}

/** Extends the timeout of this request's body to that of a byte stream. */
export function lengthenBody(req: IncomingMessage): void {
  clearTimeout(bodyTimers.get(req));
}
