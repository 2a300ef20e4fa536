import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createCoordination } from '@baton/coordination/app/app';
import { startContextAdapter } from '@baton/coordination/app/context-adapter/context-adapter';
import { createMeasures } from '@baton/coordination/app/health/measures';
import { startWorker } from '@baton/coordination/app/worker';
import { createIdentity } from '@baton/identity/app/app';
import type { RunningService } from '@baton/kernel/http/running-service';
import { createListener, openPort } from '@baton/kernel/listener/listener';
import { createLog } from '@baton/kernel/process/log';
import { createTestDatabase } from '@baton/kernel/testing/database/database';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { bootstrap } from '../bootstrap/bootstrap.ts';
import { openState } from '../bootstrap/state.ts';
import { projectRoot } from '../config.ts';
import { openHome } from '../home.ts';
import { openRouter } from '../router.ts';
import { ensureSecrets } from '../secrets.ts';
import { privateFolder } from './private-folder.ts';

/** Identity, coordination, worker and context adapter on separate ports, with an administrator. */
export interface SeparateServices {
  readonly folder: string;
  readonly identityPort: number;
  readonly coordinationPort: number;
  /** The metrics address of each service, as set by IAM_METRICS_PORT. */
  readonly identityMetricsPort: number;
  readonly workerMetricsPort: number;
  readonly adapterMetricsPort: number;
  /** The administrator's personal access token. */
  readonly adminToken: string;
  readonly tenantId: string;
  /** The admin secret of identity. */
  readonly adminSecret: string;
  /** The log of both services so far. */
  readonly logged: readonly LogLine[];
  close(): Promise<void>;
}

export interface LogLine {
  readonly name: string;
  readonly reason?: string;
  readonly address?: string;
}

/** @param publicUrl the URL for clients, for example of a proxy in front */
export async function startSeparateServices(
  publicUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<SeparateServices> {
  const folder = privateFolder();
  const closers: (() => Promise<unknown>)[] = [folder.remove];
  const close = async () => {
    for (const stop of closers.toReversed()) await stop();
  };
  try {
    const started = await start(publicUrl, settings, folder.path, closers);
    return { ...started, folder: folder.path, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(
  publicUrl: string,
  settings: Readonly<Record<string, string>>,
  folder: string,
  closers: (() => Promise<unknown>)[],
) {
  const home = openHome(join(folder, 'home'));
  closers.push(async () => home.release());
  const secrets = await ensureSecrets(home);
  keepSecret('bootstrap secret', secrets.iamBootstrapToken);
  keepSecret('bootstrap secret', secrets.cpBootstrapToken);
  const databaseOf = async (name: string) => {
    const database = await createTestDatabase(join(projectRoot, 'packages', name, 'migrations'));
    closers.push(database.drop);
    return database.url;
  };
  // The addresses that the bootstrap and coordination's key requests use, so that the proxy can start later.
  const inside = await openRouter('127.0.0.1', 0, { hosts: [], ownOrigins: [], origins: [] });
  closers.push(async () => {
    await inside.drain(0);
    inside.close();
  });
  const issuer = `${publicUrl}/iam`;
  const identityMetricsPort = await freePort();
  const workerMetricsPort = await freePort();
  const adapterMetricsPort = await freePort();
  const env = {
    IAM_DATABASE_URL: await databaseOf('identity'),
    IAM_BOOTSTRAP_TOKEN: secrets.iamBootstrapToken,
    IAM_SIGNING_KEY_FILE: secrets.signingKeyFile,
    IAM_SIGNING_KEY_ID: secrets.signingKeyId,
    IAM_PUBLIC_URL: publicUrl,
    IAM_ISSUER: issuer,
    IAM_METRICS_PORT: identityMetricsPort,
    CP_DATABASE_URL: await databaseOf('coordination'),
    CP_BOOTSTRAP_TOKEN: secrets.cpBootstrapToken,
    CP_IAM_ISSUER: issuer,
    CP_IAM_JWKS_URL: `http://127.0.0.1:${inside.port}/iam/.well-known/jwks.json`,
    IAM_DELEGATION_CREDENTIAL_FILE: secrets.delegationCredentialFile,
    CP_IDENTITY_ADMIN_CREDENTIAL_FILE: secrets.delegationCredentialFile,
    CP_IAM_BASE_URL: `http://127.0.0.1:${inside.port}/iam`,
    CP_ARTIFACT_FOLDER: join(folder, 'contents'),
    CP_WORKER_METRICS_PORT: workerMetricsPort,
    CP_CONTEXT_ADAPTER_METRICS_PORT: adapterMetricsPort,
    ...settings,
  };
  const logged: LogLine[] = [];
  const destination = { write: (line: string) => void logged.push(JSON.parse(line) as LogLine) };
  const log = (name: string) => createLog({ name, level: 'info', destination });
  const identity = await createIdentity({ env, log: log('identity') });
  closers.push(identity.close);
  const coordination = await createCoordination({
    env,
    log: log('coordination'),
    measures: createMeasures(true),
  });
  closers.push(coordination.close);
  const worker = await startWorker({ env, log: log('worker'), measures: createMeasures(true) });
  closers.push(worker.close);
  const adapter = await startContextAdapter({
    env,
    isWatched: true,
    log: log('context-adapter'),
    measures: createMeasures(true),
  });
  closers.push(adapter.close);
  inside.routeTo({ identity, coordination });
  inside.markReady();
  const state = openState(home, issuer);
  const { adminToken } = await bootstrap({
    home,
    state,
    url: `http://127.0.0.1:${inside.port}`,
    secrets,
    scim: { audience: 'iam-scim', scope: 'scim:write' },
  });
  keepSecret('personal access token', adminToken);
  return {
    identityPort: await listen(identity, closers),
    coordinationPort: await listen(coordination, closers),
    identityMetricsPort: Number(identityMetricsPort),
    workerMetricsPort: Number(workerMetricsPort),
    adapterMetricsPort: Number(adapterMetricsPort),
    adminToken,
    tenantId: state.tenantId,
    adminSecret: secrets.iamBootstrapToken,
    logged,
  };
}

async function listen(service: RunningService, closers: (() => Promise<unknown>)[]): Promise<number> {
  const server: Server = createListener(service);
  await openPort(server, '127.0.0.1', 0);
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
