import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { createConsole } from '@baton/console/server';
import { clientAddressOf } from '@baton/kernel/listener/client-address';
import { clientOfAddress } from '@baton/kernel/listener/counted-address';
import { shortSecretWarning } from '@baton/kernel/process/admin-secret';
import { createMcpEndpoint, type McpEndpoint } from '@baton/mcp/http/endpoint';
import { artifactFolder } from './backup/artifact-bytes.ts';
import { controlPlane } from './bootstrap/audiences.ts';
import { type BootstrapResult, bootstrap } from './bootstrap/bootstrap.ts';
import { type BootstrapState, openState, saveState } from './bootstrap/state.ts';
import {
  type Environment,
  type PlatformSettings,
  readManagementPolicy,
  readOriginPolicy,
  readPlatformSettings,
} from './config.ts';
import { type Connection, connectionFile, writeConnection } from './connection.ts';
import { consoleSignIn } from './console-sign-in.ts';
import { type Databases, migrateDatabases, openDatabases, refuseUnrelatedDatabases } from './databases.ts';
import { firstPasskeysBy } from './first-passkeys.ts';
import { type Home, openHome } from './home.ts';
import { isSamePlace, placesOfSettings, rejectMissingAddresses } from './home-databases.ts';
import { LiveDemo } from './live-demo.ts';
import { localhostUrl } from './localhost-twin.ts';
import { everyAddress, reachableUrls } from './own-addresses.ts';
import { openRouter, type Router } from './router.ts';
import { ensureSecrets, type Secrets } from './secrets.ts';
import { sendOnBehalf } from './send-on-behalf.ts';
import { ownHosts, type Services, serviceEnvironment, startServices } from './services.ts';
import type { StartError } from './start-error.ts';

export interface BatonOptions {
  readonly env: Environment;
  /** Prints a line for the user. */
  say(line: string): void;
  /** Aborts the start between two steps. */
  readonly signal: AbortSignal;
  /** Called once if Baton can't continue; the caller then closes it. */
  onFailure(reason: StartError): void;
}

/** A running Baton: both services, the worker and the context adapter on one port and one PostgreSQL. */
export interface Baton {
  readonly connection: Connection;
  /** The console's address for browsers: at localhost, where browsers accept passkeys. */
  readonly consoleUrl: string;
  /** The URL that signs in to the console, once, within 60 seconds. */
  readonly signInUrl: string;
  /** URLs for other machines; empty if Baton listens on one address only. */
  readonly reachableUrls: readonly string[];
  readonly home: string;
  /** Finishes requests in progress, then stops the parts in order, PostgreSQL last. */
  close(): Promise<void>;
}

const drainWaitMs = 10_000;
const partWaitMs = 10_000;

/** The parts that have been started so far. */
interface Parts {
  home?: Home;
  router?: Router;
  databases?: Databases;
  services?: Services;
  mcp?: McpEndpoint;
  demo?: LiveDemo;
}

/**
 * Starts everything; the first start also creates folder, secrets, databases, tenant and administrator.
 * @throws StartError or SettingError, after stopping everything that was started
 */
export async function startBaton(options: BatonOptions): Promise<Baton> {
  const parts: Parts = {};
  try {
    const started = await start(parts, options);
    return { ...started, home: (parts.home as Home).directory, close: () => stop(parts) };
  } catch (error) {
    await stop(parts);
    throw error;
  }
}

async function start(
  parts: Parts,
  { env, say, signal, onFailure }: BatonOptions,
): Promise<Omit<Baton, 'home' | 'close'>> {
  const settings = readPlatformSettings(env);
  const places = placesOfSettings(settings);
  const home = (parts.home = openHome(settings.BATON_HOME));
  rejectMissingAddresses(home.directory, settings);
  const router = (parts.router = await openRouter(
    settings.HOST,
    settings.PORT,
    readOriginPolicy(settings),
    readManagementPolicy(settings),
  ));
  if (home.isNew) say(`Created the data folder ${home.directory}.`);
  const [made, databases] = await settleBoth(
    ensureSecrets(home),
    openDatabases(settings, home, say, onFailure).then((opened) => (parts.databases = opened)),
  );
  signal.throwIfAborted();
  reportDatabases(databases, say);
  await refuseUnrelatedDatabases(home, places, databases);
  say(await migrateDatabases(databases));
  signal.throwIfAborted();
  const secrets = chooseSecrets(settings, made);
  warnOfShortSecrets(settings, say);
  const urls = chooseUrls(settings, router.port);
  const state = openState(home, settings.IAM_ISSUER || `${urls.publicUrl}/iam`);
  if (settings.IAM_ISSUER !== '') state.issuer = settings.IAM_ISSUER;
  if (!isSamePlace(state.databases, places)) saveState(home, Object.assign(state, { databases: places }));
  const defaults = defaultSettings(secrets, databases, urls, {
    issuer: state.issuer,
    home: settings.BATON_HOME,
  });
  const services = (parts.services = await startServices(serviceEnvironment(env, defaults)));
  const signIn = consoleSignIn(settings, {
    tenantId: state.tenantId,
    adminSecret: secrets.iamBootstrapToken,
    coordinationUrl: urls.localUrl,
    identityUrl: `${urls.localUrl}/iam`,
    allowedHosts: ownHosts(urls.localUrl),
    publicUrl: urls.publicUrl,
    say,
  });
  let administratorId: string | undefined;
  const demo = (parts.demo = new LiveDemo({
    env,
    connectionFile: home.path(connectionFile),
    localUrl: urls.localUrl,
    administratorId: () => administratorId,
  }));
  const countedAs = (req: IncomingMessage) =>
    clientOfAddress(clientAddressOf(req, settings.CP_TRUSTED_PROXIES));
  const browserUrl = router.isAtLocalhost ? localhostUrl(urls.publicUrl) : urls.publicUrl;
  if (!router.isAtLocalhost && urls.publicUrl === urls.localUrl)
    say(`Another program listens on port ${router.port} of ::1, so passkeys are not available at localhost.`);
  const page = createConsole({
    ...(signIn && { signIn }),
    browserUrl,
    firstPasskeys: firstPasskeysBy(`${urls.localUrl}/iam`, secrets.iamBootstrapToken),
    demo,
    url: urls.localUrl,
    transport: (req) => sendOnBehalf(services.identity, req),
    countedAs,
    cache: home.path('console'),
    isSecure: urls.publicUrl.startsWith('https:'),
    say,
  });
  const mcp = (parts.mcp = createMcpEndpoint({
    localUrl: urls.localUrl,
    transport: (req) => sendOnBehalf(services.identity, req),
    countedAs,
    publicUrl: settings.IAM_PUBLIC_URL || undefined,
    issuer: state.issuer,
  }));
  router.routeTo({ ...services, console: page, mcp });
  signal.throwIfAborted();
  const isFirstStart = state.adminPrincipalId === undefined;
  const scim = { audience: settings.IAM_SCIM_AUDIENCE, scope: settings.IAM_SCIM_SCOPE };
  const admin = await bootstrap({ home, state, url: urls.localUrl, secrets, scim });
  if (isFirstStart) say('Created the tenant "baton" and its administrator, in both services.');
  const connection = connectionOf({ secrets, databases, urls, state, admin });
  writeConnection(home, connection);
  administratorId = connection.adminPrincipalId;
  say(`Wrote the connection details to ${home.path(connectionFile)} (readable by you only).`);
  router.markReady();
  return {
    connection,
    consoleUrl: browserUrl,
    signInUrl: `${browserUrl}/sign-in#code=${page.newCode(connection.adminToken)}`,
    reachableUrls: reachableUrls(settings.HOST, router.port),
  };
}

function chooseSecrets(settings: PlatformSettings, made: Secrets): Secrets {
  return {
    ...made,
    iamBootstrapToken: settings.IAM_BOOTSTRAP_TOKEN || made.iamBootstrapToken,
    cpBootstrapToken: settings.CP_BOOTSTRAP_TOKEN || made.cpBootstrapToken,
  };
}

function warnOfShortSecrets(settings: PlatformSettings, say: BatonOptions['say']): void {
  // The length of these secrets also matters if other machines can send them through a proxy, regardless of HOST.
  const host = settings.BATON_MANAGEMENT_NETWORKS === undefined ? settings.HOST : '';
  for (const setting of ['IAM_BOOTSTRAP_TOKEN', 'CP_BOOTSTRAP_TOKEN'] as const) {
    const warning = shortSecretWarning(setting, settings[setting], host);
    if (warning !== undefined) say(`Warning: ${warning}`);
  }
}

interface Urls {
  /** The address for clients. */
  readonly publicUrl: string;
  /** The address at which this process sends requests to itself, bypassing any reverse proxy. */
  readonly localUrl: string;
}

function chooseUrls({ HOST, IAM_PUBLIC_URL }: PlatformSettings, port: number): Urls {
  const host = everyAddress.includes(HOST) ? '127.0.0.1' : HOST;
  const localUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { localUrl, publicUrl: IAM_PUBLIC_URL || localUrl };
}

/** The addresses that OAuth clients may use as a resource (RFC 8707). MCP clients use the address of `/mcp`. */
function resourcesOf({ publicUrl, localUrl }: Urls): Record<string, string> {
  const bases = [publicUrl, ...ownHosts(localUrl).map((host) => `http://${host}`)];
  return Object.fromEntries(
    bases.flatMap((base) => [base, `${base}/mcp`]).map((address) => [address, controlPlane]),
  );
}

/** The services' settings in the default run. The user's settings take precedence. */
function defaultSettings(
  secrets: Secrets,
  databases: Databases,
  urls: Urls,
  { issuer, home }: { issuer: string; home: string },
): Record<string, string> {
  return {
    IAM_DATABASE_URL: databases.iamDatabaseUrl,
    IAM_BOOTSTRAP_TOKEN: secrets.iamBootstrapToken,
    IAM_SIGNING_KEY_FILE: secrets.signingKeyFile,
    IAM_SIGNING_KEY_ID: secrets.signingKeyId,
    IAM_AUDIT_KEY_FILE: secrets.auditKeyFile,
    IAM_DELEGATION_CREDENTIAL_FILE: secrets.delegationCredentialFile,
    IAM_PUBLIC_URL: urls.publicUrl,
    IAM_ISSUER: issuer,
    IAM_OUTBOUND_ALLOWED_HOSTS: JSON.stringify(ownHosts(urls.localUrl)),
    IAM_RESOURCES: JSON.stringify(resourcesOf(urls)),
    IAM_OAUTH_CONSOLE_URL: localhostUrl(urls.publicUrl),
    IAM_COORDINATION_URL: urls.localUrl,
    IAM_LOG_LEVEL: 'warn',
    CP_DATABASE_URL: databases.cpDatabaseUrl,
    CP_BOOTSTRAP_TOKEN: secrets.cpBootstrapToken,
    CP_ARTIFACT_FOLDER: join(home, artifactFolder),
    CP_SECRET_STORE_KEY_FILE: secrets.sealingKeyFile,
    CP_IDENTITY_ADMIN_CREDENTIAL_FILE: secrets.delegationCredentialFile,
    CP_IAM_ISSUER: issuer,
    CP_PUBLIC_URL: urls.publicUrl,
    CP_IAM_BASE_URL: `${urls.localUrl}/iam`,
    CP_IAM_JWKS_URL: `${urls.localUrl}/iam/.well-known/jwks.json`,
    CP_OUTBOUND_ALLOWED_HOSTS: JSON.stringify(ownHosts(urls.localUrl)),
    CP_LOG_LEVEL: 'warn',
  };
}

function connectionOf(parts: {
  secrets: Secrets;
  databases: Databases;
  urls: Urls;
  state: BootstrapState;
  admin: BootstrapResult;
}): Connection {
  const { secrets, databases, urls, state, admin } = parts;
  return {
    publicUrl: urls.publicUrl,
    identityUrl: `${urls.publicUrl}/iam`,
    coordinationUrl: urls.publicUrl,
    issuer: state.issuer,
    tenantId: state.tenantId,
    iamBootstrapToken: secrets.iamBootstrapToken,
    cpBootstrapToken: secrets.cpBootstrapToken,
    adminPrincipalId: admin.adminPrincipalId,
    adminToken: admin.adminToken,
    iamDatabaseUrl: databases.iamDatabaseUrl,
    cpDatabaseUrl: databases.cpDatabaseUrl,
  };
}

function reportDatabases({ cluster }: Databases, say: (line: string) => void): void {
  if (cluster === undefined) say('Using the PostgreSQL servers of IAM_DATABASE_URL and CP_DATABASE_URL.');
  else if (cluster.current().adopted) say('Using the running PostgreSQL.');
  else say('PostgreSQL is running.');
}

async function stop({ home, router, databases, services, mcp, demo }: Parts): Promise<void> {
  // The MCP endpoint and the demo release their claims through the port, which must still be open.
  await waitAtMost(partWaitMs, Promise.all([mcp?.close(), demo?.close()]));
  await router?.drain(drainWaitMs);
  if (services !== undefined) {
    await waitAtMost(partWaitMs, Promise.all([services.worker.close(), services.contextAdapter.close()]));
    await waitAtMost(partWaitMs, Promise.all([services.identity.close(), services.coordination.close()]));
  }
  router?.close();
  await databases?.cluster?.stop();
  home?.release();
}

/** A part that hangs or fails during the stop must not prevent the clean stop of PostgreSQL. */
async function waitAtMost(waitMs: number, work: Promise<unknown>): Promise<void> {
  const timeout = new Promise((resolve) => setTimeout(resolve, waitMs).unref());
  await Promise.race([work, timeout]).catch(() => undefined);
}

/** Waits for both promises even if one fails, so that a failed start leaves no work running. */
async function settleBoth<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return [await first, await second];
}
