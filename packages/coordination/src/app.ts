import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { createPool, type Pool } from '@baton/kernel/db';
import { addDocs } from '@baton/kernel/docs-page';
import { buildHttp, type RunningService } from '@baton/kernel/http';
import { createLog, type Logger } from '@baton/kernel/log';
import { requestMetrics } from '@baton/kernel/metrics';
import { Registry } from 'prom-client';
import { createAuthenticator } from './authn/authenticate.ts';
import { readCoordinationSettings, type Settings } from './config.ts';
import { createCounters } from './counters.ts';
import { describeApi } from './describe.ts';
import { endpoints } from './endpoints.ts';
import { coordinationRuntime } from './runtime.ts';

export interface CoordinationOptions {
  /** The documented settings (CP_*). */
  env: Readonly<Record<string, string | undefined>>;
  /** The tests' own; by default a log to standard output. */
  log?: Logger;
}

export function poolOf(settings: Settings, log: Logger, applicationName: string): Pool {
  return createPool({
    url: settings.CP_DATABASE_URL,
    connectionsMax: settings.CP_DATABASE_CONNECTIONS_MAX,
    applicationName,
    statementTimeoutMs: settings.CP_STATEMENT_TIMEOUT_SECONDS * 1000,
    lockTimeoutMs: settings.CP_STATEMENT_TIMEOUT_SECONDS * 1000,
    idleInTransactionTimeoutMs: settings.CP_IDEMPOTENCY_PENDING_TTL_SECONDS * 1000,
    onError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
}

/**
 * Makes the coordination service; whoever owns the port passes requests to its handler.
 * @throws Error with one sentence for settings that can't be used
 */
export async function createCoordination({ env, log: given }: CoordinationOptions): Promise<RunningService> {
  const settings = readCoordinationSettings(env);
  const log = given ?? createLog({ name: 'coordination', level: settings.CP_LOG_LEVEL });
  const registry = new Registry();
  const pool = poolOf(settings, log, 'baton-coordination');
  const app = buildHttp(
    coordinationRuntime({
      settings,
      pool,
      log,
      metrics: requestMetrics(registry),
      counters: createCounters(registry),
      authenticator: createAuthenticator(pool, settings, log),
      wake: () => undefined,
    }),
    endpoints,
  );
  addDocs(app, 'Baton coordination', describeApi());
  await app.ready();
  return {
    handler: (req: IncomingMessage, res: ServerResponse) => app.routing(req, res),
    upgrade: (_req, socket: Duplex) => socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n'),
    async close() {
      await app.close();
      await pool.close();
    },
  };
}
