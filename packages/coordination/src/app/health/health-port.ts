import { openWatchPort, type WatchAnswer, type WatchPort } from '@baton/kernel/listener/watch-port';
import { mayReadMetrics } from '../../access/authn/bearer.ts';
import type { Settings } from '../settings.ts';
import { expositionType, type Health } from './health.ts';

/**
 * Opens the monitoring port of a process without requests, such as the worker: `/health/live`, `/health/ready` and
 * `/metrics` respond like those of coordination. See docs/reference/README.md#service-endpoints.
 * @param port 0: none is opened
 * @param setting the setting of the port, for the error message
 * @throws Error with one sentence when the port can't be opened
 */
export async function openHealthPort(options: {
  health: Pick<Health, 'readiness' | 'exposition'>;
  settings: Pick<Settings, 'CP_HOST' | 'CP_METRICS_TOKEN'>;
  port: number;
  setting: string;
}): Promise<WatchPort | undefined> {
  const { health, settings, port, setting } = options;
  if (port === 0) return undefined;
  return openWatchPort(
    {
      '/health/live': () => json(200, { status: 'alive' }),
      async '/health/ready'() {
        const readiness = await health.readiness();
        return json(readiness.status === 'ready' ? 200 : 503, readiness);
      },
      async '/metrics'(authorization) {
        if (!mayReadMetrics(settings, authorization)) return unauthorized;
        return { status: 200, contentType: expositionType, text: await health.exposition() };
      },
    },
    { host: settings.CP_HOST, port, setting },
  );
}

const unauthorized: WatchAnswer = {
  status: 401,
  contentType: 'text/plain; charset=utf-8',
  text: '',
  headers: { 'www-authenticate': 'Bearer' },
};

function json(status: number, body: object): WatchAnswer {
  return { status, contentType: 'application/json; charset=utf-8', text: JSON.stringify(body) };
}
