import cors from '@fastify/cors';
import { addDocs } from '@baton/kernel/docs-page';
import { buildHttp, type RunningService } from '@baton/kernel/http';
import { drainable } from '@baton/kernel/listen';
import { createLog, type Logger } from '@baton/kernel/log';
import { requestMetrics } from '@baton/kernel/metrics';
import { answerUnreadable } from '@baton/kernel/unreadable';
import { createAuthenticator } from '../access/authn/authenticate.ts';
import { readCoordinationSettings, type Settings } from './settings.ts';
import type { Tools } from './context.ts';
import { describeApi } from './describe.ts';
import { endpoints } from './endpoints.ts';
import { coordinationRuntime, renderError } from './runtime.ts';
import { openStore } from './store.ts';
import { createEventStream } from './stream/event-stream.ts';
import { createNotifier } from './stream/notifier.ts';

export interface CoordinationOptions {
  /** The documented settings (CP_*). */
  env: Readonly<Record<string, string | undefined>>;
  /** The tests' own; by default a log to standard output. */
  log?: Logger;
}

/** How long a stop waits for requests under way: longer than any statement may run. */
const drainMsMax = 30_000;

/**
 * Makes the coordination service; whoever owns the port passes requests to its handler.
 * @throws Error with one sentence for settings that can't be used
 */
export async function createCoordination({ env, log: given }: CoordinationOptions): Promise<RunningService> {
  const settings = readCoordinationSettings(env);
  const log = given ?? createLog({ name: 'coordination', level: settings.CP_LOG_LEVEL });
  const { pool, registry, counters, health } = await openStore(settings, log, 'baton-coordination');
  const authenticator = createAuthenticator(pool, settings, log);
  const stream = createEventStream({ db: pool, settings, log, authenticator });
  const bindingChanged = (issuer: string, iamPrincipalId: string) => {
    authenticator.forget(issuer, iamPrincipalId);
    stream.checkAgain(iamPrincipalId);
  };
  const notifier = createNotifier({
    pool,
    log,
    listener: {
      journalGrew: stream.wake,
      bindingChanged,
      missed() {
        authenticator.forgetAll();
        stream.checkAgain();
        stream.wakeAll();
      },
    },
  });
  const tools: Tools = {
    settings,
    log,
    counters,
    health,
    publishBindingChange(issuer, iamPrincipalId) {
      bindingChanged(issuer, iamPrincipalId);
      notifier.announceBinding(issuer, iamPrincipalId);
    },
  };
  const wake = (tenantId: string) => {
    stream.wake(tenantId);
    notifier.announceJournal(tenantId);
  };
  const metrics = requestMetrics(registry);
  const app = buildHttp(coordinationRuntime(tools, { pool, metrics, authenticator, wake }), endpoints);
  if (settings.CP_CORS_ORIGINS.length > 0) {
    app.register(cors, corsOf(settings));
    // Answers are written past the framework's reply, where the plugin has left its headers.
    app.addHook('preHandler', (_request, reply, done) => {
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value);
      done();
    });
  }
  addDocs(app, 'Baton coordination', describeApi());
  await app.ready();
  const requests = drainable(app.routing);
  return {
    handler: requests.handler,
    upgrade: stream.upgrade,
    unreadable: answerUnreadable(renderError),
    async close() {
      await Promise.all([stream.close(), requests.drain(drainMsMax)]);
      await app.close();
      await notifier.close();
      await pool.close();
    },
  };
}

/** Pages of the named origins may call; the credential is a header, so no cookie is ever involved. */
function corsOf({ CP_CORS_ORIGINS: origins }: Settings) {
  return {
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      'authorization',
      'content-type',
      'idempotency-key',
      'if-match',
      'if-none-match',
      'x-correlation-id',
      'x-request-id',
      'x-run-id',
    ],
    exposedHeaders: ['etag', 'idempotency-replayed', 'location', 'retry-after', 'x-request-id', 'x-run-id'],
    maxAge: 600,
  };
}
