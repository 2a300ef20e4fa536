import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { createProxyServer } from 'httpxy';
import type { RunningService } from '@baton/kernel/http/running-service';
import { clientAddressOf, type Networks } from '@baton/kernel/listener/client-address';
import { refuseUpgrade } from '@baton/kernel/listener/listener';
import { newTraceHex } from '@baton/values/ids';

/** In milliseconds. A request for events waits for 30 s at most, a stream sends a ping every 15 s. */
const answerMsMax = 65_000;
const upgradeMsMax = 10_000;
/** Idle connections that are kept; how many are busy is bounded by the connections of clients, one request at a time each. */
const idleConnectionsMax = 64;

/** What the page asks for, and programs that come by the same address; not metrics, nor pages of the services. */
const passedPaths = /^\/(?:api|health|healthz|readyz|\.well-known)(?:\/|$)/;

/**
 * A service that runs elsewhere, as if it ran here: requests and WebSockets are passed on as they came, with the client's
 * address in `X-Forwarded-For`. Where nothing answers, a request is 503 `unavailable`.
 * @param target the service's address, as `https://coordination.example.com`
 * @param trusted networks of the proxies in front of this process
 */
export function forwardingTo(target: string, trusted: Networks): RunningService {
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
      // A pipe passes on that a side ended, not that it was destroyed: the other one would stay open, and this process with it.
      browser.once('close', () => upstream.destroy());
      upstream.once('close', () => browser.destroySoon());
    });
  });
  proxy.on('error', (_error, req, answer) => {
    if (answer === undefined) return;
    if (!('writeHead' in answer)) {
      // In a stream that was opened an answer would be read as a broken frame.
      if (upgraded.has(answer)) return;
      return refuseUpgrade(answer, '503 Service Unavailable');
    }
    // Half an answer can't be mended: the client sees a broken connection.
    if (answer.headersSent) return void answer.destroy();
    const requestId = `req_${newTraceHex()}`;
    const message = 'The service behind this console does not answer: try again.';
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
      if (!isPassed(req.url)) return void res.writeHead(404, { 'content-length': 0 }).end();
      passAddressOn(req, trusted);
      // It also rejects where the client broke off: unheard, that would end the process.
      proxy.web(req, res).catch(() => res.destroy());
    },
    upgrade(req, socket, head) {
      if (!isPassed(req.url)) return refuseUpgrade(socket, '404 Not Found');
      passAddressOn(req, trusted);
      proxy.ws(req, socket as Socket, {}, head).catch(() => socket.destroy());
    },
    close: () => Promise.resolve(agent.destroy()),
  };
}

/** A path with `..` is not passed on, however it is written: whoever reads it next may make another path of it. */
function isPassed(url = '/'): boolean {
  const [path = ''] = url.split('?', 1);
  try {
    const segments = decodeURIComponent(path).split(/[/\\]/);
    return passedPaths.test(path) && !segments.some((segment) => segment === '.' || segment === '..');
  } catch {
    return false;
  }
}

/** `Origin` was judged at the door of this process; behind it, it would be the origin of another page. */
function passAddressOn(req: IncomingMessage, trusted: Networks): void {
  req.headers['x-forwarded-for'] = clientAddressOf(req, trusted);
  delete req.headers.origin;
}
