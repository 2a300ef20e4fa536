import cors from '@fastify/cors';
import type { Registry } from 'prom-client';
import type { Pool } from '@baton/kernel/database/db';
import type { HttpApp } from '@baton/kernel/http/http';
import { type RunningService, runService } from '@baton/kernel/http/running-service';
import { readGeneratedDocument } from '@baton/kernel/openapi/docs-page';
import { createLog, type Logger } from '@baton/kernel/process/log';
import { requestMetrics } from '@baton/kernel/process/metrics';
import type { RevocationsOptions } from '../access/access-tokens/revocations.ts';
import { type Authenticator, createAuthenticator } from '../access/authn/authenticate.ts';
import { createEntitlement } from '../access/entitlement/entitlement.ts';
import { openLicenceService } from '../access/entitlement/licence-service.ts';
import { withLicence } from '../access/entitlement/licensed.ts';
import { openIdentityAdministration } from '../access/identity-administration-tokens/identity-client.ts';
import { openSecretStore } from '../access/secret-store/open-secret-store.ts';
import { createRevokedSessions } from '../execution/sessions/revoked/revoked-sessions.ts';
import { openGateway } from '../memory/gateway/gateway.ts';
import { openContentStore } from '../results/contents/open-store.ts';
import { RefusedWrites } from '../results/statistics/refused-writes.ts';
import { openAuthorization } from './authz/authorization.ts';
import { workerTools } from './background.ts';
import type { Tools } from './context.ts';
import { endpoints } from './endpoints.ts';
import type { Measures } from './health/measures.ts';
import { Notifier } from './notifier/notifier.ts';
import { RevocationFollower } from './revoked-sessions.ts';
import { coordinationRuntime } from './runtime.ts';
import { readCoordinationSettings, type Settings } from './settings.ts';
import { openStore } from './store.ts';
import { EventStream } from './stream/event-stream.ts';

export interface CoordinationOptions {
  /** The documented settings (CP_*). */
  env: Readonly<Record<string, string | undefined>>;
  /** Logs to standard output by default. */
  log?: Logger;
  /** The process's metrics, if its parts share them. */
  measures?: Measures;
}

export interface Coordination extends RunningService {
  /** Reads the revocation list: call it after identity has revoked something in the same process. */
  refreshRevocations(): Promise<void>;
}

/** The time for which a shutdown waits for running requests: longer than any statement may run. */
const drainMsMax = 30_000;

/**
 * Creates the coordination service from its settings (CP_*); the owner of the port passes requests to its handler.
 * @throws Error with one sentence for invalid settings
 */
export async function createCoordination({
  env,
  log: given,
  measures,
}: CoordinationOptions): Promise<Coordination> {
  const settings = readCoordinationSettings(env);
  const log = given ?? createLog({ name: 'coordination', level: settings.CP_LOG_LEVEL });
  const secrets = openSecretStore(settings);
  const identityAdministration = openIdentityAdministration(settings);
  const { pool, registry, counters, health } = await openStore(settings, log, 'baton-coordination', measures);
  const authenticator: Authenticator = authenticatorOf({ pool, settings, log, registry }, (revoked) => {
    stream.checkAgain();
    follower.follow(revoked);
  });
  const authorization = openAuthorization({ settings, log, registry, pool });
  const { authorizeReader } = authorization;
  const stream: EventStream = new EventStream({
    db: pool,
    settings,
    log,
    authenticator,
    health,
    authorizeReader,
  });
  const bindingChanged = (issuer: string, iamPrincipalId: string) => {
    authenticator.forget(issuer, iamPrincipalId);
    authorization.forget();
    stream.checkAgain(iamPrincipalId);
  };
  const notifier = new Notifier({
    pool,
    log,
    listener: {
      journalGrew: (tenantId) => stream.wake(tenantId),
      bindingChanged,
      missed() {
        authenticator.forgetAll();
        authorization.forget();
        stream.checkAgain();
        stream.wakeAll();
      },
    },
  });
  const contents = openContentStore(settings);
  const tools: Tools = {
    settings,
    contents,
    secrets,
    identityAdministration,
    memory: openGateway(settings, counters),
    log,
    counters,
    health,
    differences: authorization.differences,
    verifyAdmission: (statement) => authenticator.verifyAdmission(statement),
    publishBindingChange(issuer, iamPrincipalId) {
      bindingChanged(issuer, iamPrincipalId);
      notifier.announceBinding(issuer, iamPrincipalId);
    },
  };
  const wake = (tenantId: string) => {
    stream.wake(tenantId);
    notifier.announceJournal(tenantId);
  };
  // Ending the sessions of revoked credentials requires no permission.
  const background = workerTools({ ...tools, pool, wake, authorities: undefined });
  const follower = new RevocationFollower(createRevokedSessions(background), log);
  const refusedWrites = new RefusedWrites(pool, log);
  const service = await runService({
    runtime: coordinationRuntime(tools, {
      pool,
      metrics: requestMetrics(registry),
      authenticator,
      hooks: authorization.hooks,
      wake,
      refusedWrites,
    }),
    endpoints,
    docs: {
      title: 'Baton coordination',
      openapi: () => readGeneratedDocument('coordination.json'),
      asyncapi: () => readGeneratedDocument('coordination.asyncapi.json'),
    },
    upgrade: (req, socket, head) => stream.upgrade(req, socket, head),
    addHooks: (app) => allowOrigins(app, settings.CP_CORS_ORIGINS),
    drainMsMax,
    beforeDrained: () => stream.close(),
    async afterDrained() {
      await refusedWrites.close();
      await authenticator.close();
      await follower.close();
      await authorization.close();
      contents?.close();
      await notifier.close();
    },
  });
  return { ...service, refreshRevocations: () => authenticator.refreshRevocations() };
}

interface AuthenticatorParts {
  readonly pool: Pool;
  readonly settings: Settings;
  readonly log: Logger;
  readonly registry: Registry;
}

/** Adds the license check if it is enabled. */
function authenticatorOf(
  { pool, settings, log, registry }: AuthenticatorParts,
  onRevocation: RevocationsOptions['onRevocation'],
): Authenticator {
  const connectionsMax = settings.CP_DATABASE_CONNECTIONS_MAX;
  const authenticator = createAuthenticator(pool, settings, log, connectionsMax, onRevocation);
  if (!settings.CP_ENTITLEMENT_ENABLED) return authenticator;
  const entitlement = createEntitlement(openLicenceService(settings), settings, { registry, log });
  return withLicence(authenticator, entitlement, settings);
}

/** Lets web pages of these origins call the API. The credential is a header, so cookies are never needed. */
function allowOrigins(app: HttpApp, origins: readonly string[]): void {
  if (origins.length === 0) return;
  app.register(cors, {
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
  });
  // Responses bypass the framework's reply, on which the plugin sets its headers, so the headers are copied.
  app.addHook('preHandler', (_request, reply, done) => {
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    done();
  });
}
