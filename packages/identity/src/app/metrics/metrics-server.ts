import { collectDefaultMetrics, type Registry } from 'prom-client';
import { createListener, openPort } from '@baton/kernel/listener';
import type { Settings } from '../settings.ts';

/**
 * Serves `/metrics` on a port of its own, so that a public route never reaches it.
 * @returns what stops it
 */
export async function serveMetrics(registry: Registry, settings: Settings): Promise<() => Promise<void>> {
  const { IAM_METRICS_PORT: port, IAM_HOST: host } = settings;
  if (port === 0) return async () => undefined;
  // The process itself: its event loop's lag, memory, processor time, open files.
  collectDefaultMetrics({ register: registry });
  const server = createListener({
    handler(req, res) {
      if (req.url?.split('?', 1)[0] !== '/metrics') {
        res.writeHead(404).end();
        return;
      }
      registry.metrics().then(
        (text) => res.writeHead(200, { 'content-type': registry.contentType }).end(text),
        () => res.writeHead(500).end(),
      );
    },
  });
  await openPort(server, host, port).catch((cause: Error) => {
    throw new Error(`IAM_METRICS_PORT ${port} can not be used.`, { cause });
  });
  return () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(() => done()));
  };
}
