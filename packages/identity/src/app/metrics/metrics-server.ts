import { collectDefaultMetrics, type Registry } from 'prom-client';
import { openWatchPort } from '@baton/kernel/listener/watch-port';
import type { Settings } from '../settings.ts';

/**
 * Serves `/metrics` on its own port, so that a public route never reaches it.
 * @returns a function that stops it
 */
export async function serveMetrics(registry: Registry, settings: Settings): Promise<() => Promise<void>> {
  const { IAM_METRICS_PORT: port, IAM_HOST: host } = settings;
  if (port === 0) return async () => undefined;
  // Metrics of the process itself: its event loop's lag, memory, processor time, open files.
  collectDefaultMetrics({ register: registry });
  const metrics = async () => ({
    status: 200,
    contentType: registry.contentType,
    text: await registry.metrics(),
  });
  const opened = await openWatchPort({ '/metrics': metrics }, { host, port, setting: 'IAM_METRICS_PORT' });
  return () => opened.close();
}
