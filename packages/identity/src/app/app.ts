import { Registry } from 'prom-client';
import { type RunningService, runService } from '@baton/kernel/http/running-service';
import { readGeneratedDocument } from '@baton/kernel/openapi/docs-page';
import { OutboundClient } from '@baton/kernel/outbound/outbound';
import { createLog, type Logger } from '@baton/kernel/process/log';
import { requestMetrics } from '@baton/kernel/process/metrics';
import { FailureLimits } from '../credentials/failure-limits/failure-limits.ts';
import type { Ending } from '../directory/endings/ending.ts';
import { startEndings } from '../directory/endings/endings.ts';
import { continueDeletion } from '../directory/groups/group-deletion.ts';
import { continueRevocation } from '../directory/revocation/revocation.ts';
import { createClientLookup, createTokenLookup } from '../issuing/exchange/credential-lookup.ts';
import { ExchangeLedger } from '../issuing/exchange/exchange-ledger.ts';
import { withoutIssuerPath } from '../issuing/oauth2/server-metadata.ts';
import { RevocationFeed } from '../issuing/revocations/revocation-feed.ts';
import { startKeyUseNotes } from '../issuing/signing-keys/key-use-notes.ts';
import { SigningKeys } from '../issuing/signing-keys/signing-keys.ts';
import { errors } from '../provisioning/errors.ts';
import { startStalenessSweep } from '../provisioning/provisioning-sources/staleness.ts';
import { readUpstreamCredentials } from '../provisioning/upstream-directory/credentials.ts';
import { UpstreamDirectory } from '../provisioning/upstream-directory/upstream-directory.ts';
import type { AuditKey } from '../records/audit-chain/audit-key.ts';
import { maintainAuditRecord, openAuditMaintenance } from '../records/audit-chain/audit-maintenance.ts';
import { enterEpoch } from '../records/epoch/epoch.ts';
import { logEpoch, watchEpochs } from '../records/epoch/epoch-watch.ts';
import { startJournalRetention } from '../records/journal/journal-retention.ts';
import { JournalWatch } from '../records/journal/journal-watch.ts';
import { createCounters } from '../service/counters.ts';
import { poolOf, prepareDatabase } from '../service/database.ts';
import { startOldSessionSweep } from '../sign-in/browser-sessions/old-sessions.ts';
import { ProviderKeys } from '../sign-in/identity-providers/provider-keys.ts';
import { startOldInvitationSweep } from '../sign-in/invitations/old-invitations.ts';
import { startExpiredHandleSweep } from '../sign-in/oauth/expired-handles.ts';
import { AuthorizationServer } from '../sign-in/oauth/provider/authorization-server.ts';
import { adapterFor } from '../sign-in/oauth/provider-adapter.ts';
import { createProviderGrant, revokeRefreshToken } from '../sign-in/oauth/token-grants.ts';
import { startOldRequestSweep } from '../sign-in/sign-in-requests/old-requests.ts';
import { createAssertionExchange } from '../sign-in/workload-rules/assertion-exchange.ts';
import { startUsedAssertionSweep } from '../sign-in/workload-rules/used-assertions.ts';
import { readAdminSecrets } from './admin-secrets.ts';
import type { AdminSecrets } from './admission.ts';
import type { Tools } from './context.ts';
import { readDelegationCredentials } from './delegation-credentials.ts';
import { endpoints } from './endpoints.ts';
import { measureService } from './metrics/gauges.ts';
import { serveMetrics } from './metrics/metrics-server.ts';
import { identityRuntime } from './runtime.ts';
import { readIdentitySettings, type Settings } from './settings.ts';

/** How long requests in progress may take while the service stops. */
const drainMsMax = 20_000;

export interface IdentityOptions {
  /** The documented settings (IAM_*). */
  env: Readonly<Record<string, string | undefined>>;
  /** Logs to standard output by default. */
  log?: Logger;
  /**
   * Called before a revocation is acknowledged, so that services of this process read the list of revocations again.
   */
  onRevocation?: () => Promise<void>;
}

export interface Identity extends RunningService {
  /**
   * Reloads the keys, the named admin secrets and the upstream credentials: all of them or, if one fails, none. The
   * reason is logged.
   */
  reload(): Promise<void>;
}

/**
 * Creates the identity service from its settings (IAM_*). The owner of the port passes requests to its handler. SIGHUP
 * reads the signing keys, the named admin secrets and the upstream credentials again.
 * @throws Error with one sentence for settings, a key or a database that can't be used
 */
export async function createIdentity({
  env,
  log: given,
  onRevocation,
}: IdentityOptions): Promise<RunningService> {
  const settings = readIdentitySettings(env);
  const log = given ?? createLog({ name: 'identity', level: settings.IAM_LOG_LEVEL });
  const identity = await openIdentity(settings, log, onRevocation);
  const reload = () => void identity.reload();
  process.on('SIGHUP', reload);
  return {
    ...identity,
    async close() {
      process.off('SIGHUP', reload);
      await identity.close();
    },
  };
}

/** Opens identity without changing the process, for tests. */
export async function openIdentity(
  settings: Settings,
  log: Logger,
  onRevocation?: IdentityOptions['onRevocation'],
): Promise<Identity> {
  const secrets = await readSecrets(settings);
  const audit = await openAuditMaintenance(settings, log);
  const registry = new Registry();
  const tools = await openTools(settings, log, registry, audit.key, onRevocation);
  if (settings.IAM_BOOTSTRAP_TOKEN === '')
    log.warn('IAM_BOOTSTRAP_TOKEN is not set: every admin endpoint is closed');
  const adminSecrets: AdminSecrets = { named: secrets.admin, delegation: secrets.delegation };
  tools.upstream.use(secrets.upstream);
  measureService(registry, tools);
  const { pool, signingKeys, journalWatch, ledger } = tools;
  const stopMetrics = await serveMetrics(registry, settings);
  const jobs = [
    startEndings({ pool, auditKey: audit.key, log, continueEnding }),
    startStalenessSweep(pool, audit.key, log),
    startUsedAssertionSweep(pool, log),
    startExpiredHandleSweep(pool, audit.key, log),
    startOldInvitationSweep(pool, log),
    startOldSessionSweep(pool, log),
    startOldRequestSweep(pool, log),
    startKeyUseNotes(signingKeys, log),
    maintainAuditRecord(pool, audit, settings, log),
    watchEpochs(pool, log),
    startJournalRetention({ pool, log, days: settings.IAM_JOURNAL_RETENTION_DAYS }),
  ];
  let reloading = Promise.resolve();
  const service = await runService({
    runtime: identityRuntime(tools, requestMetrics(registry), adminSecrets),
    endpoints,
    docs: { title: 'Baton identity', openapi: () => readGeneratedDocument('identity.json') },
    drainMsMax,
    // A reader that is waiting for an event would delay the shutdown.
    beforeDrained: () => journalWatch.close(),
    async afterDrained() {
      await reloading;
      await Promise.all(jobs.map((stop) => stop()));
      await stopMetrics();
      await ledger.idle();
    },
  });
  return {
    ...service,
    handler(req, res) {
      req.url = withoutIssuerPath(req.url ?? '/', settings.issuer);
      service.handler(req, res);
    },
    reload() {
      // Sequential, so that the last reload wins even if a file is read slowly.
      reloading = reloading.then(() => reloadSecrets(tools, adminSecrets));
      return reloading;
    },
  };
}

/** Processes a batch of work that a request deferred. @returns the number of changed rows */
function continueEnding(ending: Ending): Promise<number> {
  return ending.row.group_id === null ? continueRevocation(ending) : continueDeletion(ending);
}

/** Opens the database, loads the signing keys and creates the shared parts of the contexts. */
async function openTools(
  settings: Settings,
  log: Logger,
  registry: Registry,
  auditKey: AuditKey | undefined,
  onRevocation: IdentityOptions['onRevocation'],
): Promise<Tools> {
  const pool = poolOf(settings, log, async (db) => {
    logEpoch(log, await enterEpoch(db));
  });
  const signingKeys = new SigningKeys(pool, settings.IAM_SIGNING_QUEUE_MAX);
  try {
    await prepareDatabase(settings, pool);
    await signingKeys.load(settings, log);
  } catch (error) {
    await pool.close();
    throw error;
  }
  const outbound = new OutboundClient({
    allowedHosts: settings.IAM_OUTBOUND_ALLOWED_HOSTS,
    userAgent: 'baton-identity',
  });
  const providerKeys = new ProviderKeys(outbound, log);
  const authorizationServer = new AuthorizationServer({
    settings,
    outbound: documentClient(settings),
    adapter: adapterFor,
  });
  return {
    settings,
    pool,
    log,
    auditKey,
    counters: createCounters(registry),
    failureLimits: new FailureLimits(settings, errors),
    signingKeys,
    signingAlgorithms: signingKeys,
    presentedTokens: createTokenLookup(pool, settings, signingKeys),
    clients: createClientLookup(pool, settings, signingKeys),
    ledger: new ExchangeLedger(pool, auditKey),
    revocationFeed: new RevocationFeed(pool, settings, onRevocation),
    journalWatch: new JournalWatch(pool),
    providerKeys,
    outbound,
    authorizationServer,
    exchangeAssertion: createAssertionExchange({ settings, providerKeys, outbound, authorizationServer }),
    revokeRefreshToken,
    grantByProvider: createProviderGrant({ settings, providerKeys, outbound, authorizationServer }),
    upstream: new UpstreamDirectory(outbound, log),
  };
}

/** Metadata documents of OAuth clients are short. */
const documentBytesMax = 8192;

function documentClient(settings: Settings): OutboundClient {
  return new OutboundClient({
    allowedHosts: settings.IAM_OUTBOUND_ALLOWED_HOSTS,
    userAgent: 'baton-identity',
    bytesMax: documentBytesMax,
  });
}

/** The files that are read at startup and at each reload, except the signing keys. */
async function readSecrets(settings: Settings) {
  return {
    admin: await readAdminSecrets(settings),
    delegation: await readDelegationCredentials(settings),
    upstream: await readUpstreamCredentials(settings),
  };
}

/** Replaces the contents of all files or, if one can't be read, of none. Never fails; the outcome is logged. */
async function reloadSecrets(
  { settings, log, signingKeys, upstream }: Tools,
  adminSecrets: AdminSecrets,
): Promise<void> {
  const what = 'the signing keys, the admin secrets and the upstream credentials';
  try {
    const secrets = await readSecrets(settings);
    await signingKeys.load(settings, log);
    adminSecrets.named = secrets.admin;
    adminSecrets.delegation = secrets.delegation;
    upstream.use(secrets.upstream);
    log.info(`${what} were reloaded`);
  } catch (error) {
    log.error({ err: error }, `${what} could not be reloaded: the previous ones remain in use`);
  }
}
