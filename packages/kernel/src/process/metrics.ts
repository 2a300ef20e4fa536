import { Counter, Histogram, type Registry } from 'prom-client';

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The request metrics of every service. No tenant, task or run is ever a label. */
export interface RequestMetrics {
  /** Counts a request, and records the duration of a successful one. */
  count(method: string, status: number, seconds: number): void;
}

export function requestMetrics(registry: Registry): RequestMetrics {
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Requests, by method and status.',
    labelNames: ['method', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of successful requests.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  return {
    count(method, status, seconds) {
      requests.inc({ method: knownMethods.has(method) ? method : 'OTHER', status: String(status) });
      if (status < 400) duration.observe(seconds);
    },
  };
}
