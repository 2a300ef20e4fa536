import { z } from 'zod';
import { reply } from '@baton/kernel/http/service';
import { endpoint } from '../context.ts';
import { expositionType } from './health.ts';
import { NotReady, Ready } from './readiness.ts';

export const healthApi = [
  endpoint({
    id: 'getLiveness',
    method: 'GET',
    path: '/health/live',
    root: true,
    auth: 'none',
    summary: 'Check whether the process responds.',
    returns: { 200: z.strictObject({ status: z.literal('alive') }).meta({ id: 'Liveness' }) },
    handle: () => ({ status: 'alive' as const }),
  }),
  endpoint({
    id: 'getReadiness',
    method: 'GET',
    path: '/health/ready',
    root: true,
    auth: 'none',
    summary:
      'Check whether the service can serve requests: the database responds and has the schema of this program.',
    returns: { 200: Ready, 503: NotReady },
    async handle(_input, { health }) {
      const readiness = await health.readiness();
      return readiness.status === 'ready' ? readiness : reply(503, readiness, { 'retry-after': '1' });
    },
  }),
  endpoint({
    id: 'getMetrics',
    method: 'GET',
    path: '/metrics',
    root: true,
    auth: 'metrics',
    summary: 'Read counters and gauges in the text exposition format. Keep it off the public edge.',
    description:
      'Counters are per process: add them up over all processes. Gauges of the store are the same from each process. If CP_METRICS_TOKEN is set, the request needs that bearer token.',
    returns: { 200: z.string().meta({ contentMediaType: 'text/plain' }) },
    handle: async (_input, { health }) =>
      reply(200, await health.exposition(), { 'content-type': expositionType }),
  }),
];
