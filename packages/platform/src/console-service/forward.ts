import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { createProxyServer } from 'httpxy';
import type { RunningService } from '@baton/kernel/http/running-service';
import { clientAddressOf, type Networks } from '@baton/kernel/listener/client-address';
import { refuseUpgrade } from '@baton/kernel/listener/listener';
import { newTraceHex } from '@baton/values/ids';

/** In milliseconds. A long poll for events takes at most 30 s, and a stream sends a ping every 15 s. */
const answerMsMax = 65_000;
const upgradeMsMax = 10_000;
/**
 * The maximum number of idle connections. Busy ones are bounded by client connections, with one request at a
 * time each.
 */
const idleConnectionsMax = 64;

/** Paths that pages and programs may use through this address; excludes metrics and the pages of the services. */
const passedPaths = /^\/(?:api|health|healthz|readyz|\.well-known)(?:\/|$)/;

/**
 * Forwards requests and WebSockets to a service on another host, unchanged except for the client's address in
 * `X-Forwarded-For`. Responds with 503 `unavailable` if the service is unreachable.
 * @param target the service's URL, for example `https://coordination.example.com`
 * @param trusted networks of the proxies in front of this process
 */
export function forwardTo(target: string, trusted: Networks): RunningService {
  const options = { keepAlive: true, maxFreeSockets: idleConnectionsMax };
  const agent = target.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
  const proxy = createProxyServer({
    target,
    agent,
    changeOrigin: true,
    proxyTimeout: answerMsMax,
    upgradeTimeout: upgradeMsMax,
  });
  const upgraded = new WeakSet<object>();
  proxy.on('proxyReqWs', (upgrading, _req, browser) => {
    upgrading.once('upgrade', (_answer, upstream) => {
      upgraded.add(browser);
      // A pipe passes on that one side has ended, but not that it was destroyed. The other side would stay open and
      // keep this process alive.
      browser.once('close', () => upstream.destroy());
      upstream.once('close', () => browser.destroySoon());
    });
  });
  proxy.on('error', (_error, req, answer) => {
    if (answer === undefined) return;
    if (!('writeHead' in answer)) {
      // After the upgrade, the client would parse an HTTP response as a broken frame.
      if (upgraded.has(answer)) return;
      return refuseUpgrade(answer, '503 Service Unavailable');
    }
    // A partial response can't be repaired, so the client sees a broken connection.
    if (answer.headersSent) return void answer.destroy();
    const requestId = `req_${newTraceHex()}`;
    const message = 'The service behind this console is not responding. Try again.';
    answer.writeHead(503, {
      'content-type': 'application/json; charset=utf-8',
      'retry-after': '1',
      'x-request-id': requestId,
      ...(req?.complete === false && { connection: 'close' }),
    });
    answer.end(JSON.stringify({ error: { code: 'unavailable', message, details: {}, requestId } }));
  });
  return {
    handler(req, res) {
      if (!isForwarded(req.url)) return void res.writeHead(404, { 'content-length': 0 }).end();
      forwardAddress(req, trusted);
      // The promise also rejects if the client disconnects; an unhandled rejection would end the process.
      proxy.web(req, res).catch(() => res.destroy());
    },
    upgrade(req, socket, head) {
      if (!isForwarded(req.url)) return refuseUpgrade(socket, '404 Not Found');
      forwardAddress(req, trusted);
      proxy.ws(req, socket as Socket, {}, head).catch(() => socket.destroy());
    },
    close: () => Promise.resolve(agent.destroy()),
  };
}

/** Rejects paths with `..` in any encoding, because the next hop may normalize them to another path. */
function isForwarded(url = '/'): boolean {
  const [path = ''] = url.split('?', 1);
  try {
    const segments = decodeURIComponent(path).split(/[/\\]/);
    return passedPaths.test(path) && !segments.some((segment) => segment === '.' || segment === '..');
  } catch {
    return false;
  }
}

/**
 * Sets the client's address and removes `Origin`: this process has validated the origin, and the service would
 * treat it as a foreign one.
 */
function forwardAddress(req: IncomingMessage, trusted: Networks): void {
  req.headers['x-forwarded-for'] = clientAddressOf(req, trusted);
  delete req.headers.origin;
}
