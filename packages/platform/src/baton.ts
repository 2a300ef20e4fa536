import { type Environment, type PlatformSettings, readPlatformSettings } from './config.ts';
import { type Connection, connectionFile, writeConnection } from './connection.ts';
import { type Databases, migrateDatabases, openDatabases } from './databases.ts';
import { type Edge, openEdge } from './edge.ts';
import { type Founded, found } from './founding/founding.ts';
import { type FoundingState, openState } from './founding/state.ts';
import { type Home, openHome } from './home.ts';
import { ensureSecrets, type Secrets } from './secrets.ts';
import { serviceEnvironment, type Services, startServices } from './services.ts';
import type { StartError } from './start-error.ts';

export interface BatonOptions {
  readonly env: Environment;
  /** One line for the person. */
  say(line: string): void;
  /** Stops a start between two of its steps. */
  readonly signal: AbortSignal;
  /** Called when it can't go on by itself; whoever started it closes it. */
  onFailure(reason: StartError): void;
}

/** A running Baton: both services and the worker behind one port, on one PostgreSQL. */
export interface Baton {
  readonly connection: Connection;
  readonly home: string;
  /** Finishes requests under way, then stops the parts in order, PostgreSQL last. */
  close(): Promise<void>;
}

const drainWaitMs = 10_000;
const partWaitMs = 10_000;

/** What has been started so far; stopped in the order that loses nothing. */
interface Parts {
  home?: Home;
  edge?: Edge;
  databases?: Databases;
  services?: Services;
}

/**
 * Starts everything, setting up at the first start what is missing.
 * @throws StartError or SettingError with one sentence; nothing is left running then
 */
export async function startBaton(options: BatonOptions): Promise<Baton> {
  const parts: Parts = {};
  try {
    const connection = await start(parts, options);
    return { connection, home: (parts.home as Home).directory, close: () => stop(parts) };
  } catch (error) {
    await stop(parts);
    throw error;
  }
}

async function start(parts: Parts, { env, say, signal, onFailure }: BatonOptions): Promise<Connection> {
  const settings = readPlatformSettings(env);
  const home = (parts.home = openHome(settings.BATON_HOME));
  const edge = (parts.edge = await openEdge(settings.HOST, settings.PORT));
  if (home.isNew) say(`Made the folder ${home.directory} for Baton's data.`);
  const [made, databases] = await settleBoth(
    ensureSecrets(home),
    openDatabases(settings, home, say, onFailure).then((opened) => (parts.databases = opened)),
  );
  signal.throwIfAborted();
  sayDatabases(databases, say);
  say(await migrateDatabases(databases));
  signal.throwIfAborted();
  const secrets: Secrets = {
    ...made,
    iamBootstrapToken: settings.IAM_BOOTSTRAP_TOKEN || made.iamBootstrapToken,
    cpBootstrapToken: settings.CP_BOOTSTRAP_TOKEN || made.cpBootstrapToken,
  };
  const urls = urlsOf(settings, edge.port);
  const state = openState(home, settings.IAM_ISSUER || `${urls.publicUrl}/iam`);
  if (settings.IAM_ISSUER !== '') state.issuer = settings.IAM_ISSUER;
  const decided = decidedSettings(secrets, databases, urls, state.issuer);
  const services = (parts.services = await startServices(serviceEnvironment(env, decided)));
  edge.serve(services);
  signal.throwIfAborted();
  const isFirst = state.adminPrincipalId === undefined;
  const scim = { audience: settings.IAM_SCIM_AUDIENCE, scope: settings.IAM_SCIM_SCOPE };
  const founded = await found({ home, state, url: urls.localUrl, secrets, scim });
  if (isFirst) say('Made the tenant "baton" and its administrator, in both services.');
  const connection = connectionOf({ secrets, databases, urls, state, founded });
  writeConnection(home, connection);
  say(`Programs connect with ${home.path(connectionFile)}, which only you can read.`);
  edge.open();
  return connection;
}

interface Urls {
  /** What clients are told. */
  readonly publicUrl: string;
  /** How this process reaches itself, whatever stands in front of it. */
  readonly localUrl: string;
}

function urlsOf({ HOST, IAM_PUBLIC_URL }: PlatformSettings, port: number): Urls {
  const host = ['0.0.0.0', '::', ''].includes(HOST) ? '127.0.0.1' : HOST;
  const localUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { localUrl, publicUrl: IAM_PUBLIC_URL || localUrl };
}

/** What the default run settles for the services, unless the person gave it. */
function decidedSettings(
  secrets: Secrets,
  databases: Databases,
  urls: Urls,
  issuer: string,
): Record<string, string> {
  // Key documents come from this machine's own loopback, which outgoing requests otherwise never reach.
  const allowedHosts = JSON.stringify([new URL(urls.localUrl).hostname, 'localhost']);
  return {
    IAM_DATABASE_URL: databases.iamDatabaseUrl,
    IAM_BOOTSTRAP_TOKEN: secrets.iamBootstrapToken,
    IAM_SIGNING_KEY_FILE: secrets.signingKeyFile,
    IAM_SIGNING_KEY_ID: secrets.signingKeyId,
    IAM_AUDIT_KEY_FILE: secrets.auditKeyFile,
    IAM_PUBLIC_URL: urls.publicUrl,
    IAM_ISSUER: issuer,
    IAM_OUTBOUND_ALLOWED_HOSTS: allowedHosts,
    IAM_LOG_LEVEL: 'warn',
    CP_DATABASE_URL: databases.cpDatabaseUrl,
    CP_BOOTSTRAP_TOKEN: secrets.cpBootstrapToken,
    CP_IAM_ISSUER: issuer,
    CP_IAM_JWKS_URL: `${urls.localUrl}/iam/.well-known/jwks.json`,
    CP_OUTBOUND_ALLOWED_HOSTS: allowedHosts,
    CP_LOG_LEVEL: 'warn',
  };
}

function connectionOf(parts: {
  secrets: Secrets;
  databases: Databases;
  urls: Urls;
  state: FoundingState;
  founded: Founded;
}): Connection {
  const { secrets, databases, urls, state, founded } = parts;
  return {
    publicUrl: urls.publicUrl,
    identityUrl: `${urls.publicUrl}/iam`,
    coordinationUrl: urls.publicUrl,
    issuer: state.issuer,
    tenantId: state.tenantId,
    iamBootstrapToken: secrets.iamBootstrapToken,
    cpBootstrapToken: secrets.cpBootstrapToken,
    adminPrincipalId: founded.adminPrincipalId,
    adminToken: founded.adminToken,
    iamDatabaseUrl: databases.iamDatabaseUrl,
    cpDatabaseUrl: databases.cpDatabaseUrl,
  };
}

function sayDatabases({ cluster }: Databases, say: (line: string) => void): void {
  if (cluster === undefined) say('Using the PostgreSQL that IAM_DATABASE_URL and CP_DATABASE_URL name.');
  else if (cluster.current().adopted) say('PostgreSQL was still running and is used as it is.');
  else say('PostgreSQL is running.');
}

async function stop({ home, edge, databases, services }: Parts): Promise<void> {
  await edge?.drain(drainWaitMs);
  if (services !== undefined) {
    await atMost(partWaitMs, services.worker.close());
    await atMost(partWaitMs, Promise.all([services.identity.close(), services.coordination.close()]));
  }
  edge?.close();
  await databases?.cluster?.stop();
  home?.release();
}

/** A part that hangs or fails while it stops must not keep PostgreSQL from its clean end. */
async function atMost(waitMs: number, work: Promise<unknown>): Promise<void> {
  const timeout = new Promise((resolve) => setTimeout(resolve, waitMs).unref());
  await Promise.race([work, timeout]).catch(() => undefined);
}

/** Both results; when one fails it still waits for the other, so that nothing goes on behind a failed start. */
async function settleBoth<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return [await first, await second];
}
