import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { foundTenant } from '@baton/coordination/app/bootstrap/found-tenant';
import { permissions } from '@baton/coordination/service/permissions';
import { startIssuer } from '@baton/coordination/testing/issuer';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { migrate } from '@baton/kernel/database/migrate';
import { sql } from '@baton/kernel/database/sql';
import { type Cluster, startCluster } from '@baton/platform/postgres/cluster';
import { ensureDatabase } from '@baton/platform/postgres/databases.sql';
import { newId } from '@baton/values/ids';
import { keepPruned } from './journal-table.sql.ts';
import type { LaggingMemory } from './lagging-memory.ts';
import { ServiceProcess } from './service-process.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

const migrations = join(import.meta.dirname, '../../packages/coordination/migrations');
const program = 'packages/coordination/src/app';

export interface Tenant {
  readonly id: string;
  readonly token: string;
}

/**
 * A PostgreSQL of its own, two API processes, a worker, a context adapter, and tenants with a principal with all
 * permissions.
 */
export interface World {
  readonly folder: string;
  readonly tenants: readonly Tenant[];
  /**
   * Another tenant, whose archive is pruned all the time: its journal is read only by consumers that the service waits
   * for.
   */
  readonly pruned: Tenant;
  readonly apis: readonly ServiceProcess[];
  readonly urls: readonly string[];
  readonly worker: ServiceProcess;
  /** Advances each tenant's cursor; otherwise no event is archived. */
  readonly adapter: ServiceProcess;
  /** For the checker's own queries, and for direct writers; its connections are named `chaos`. */
  readonly pool: Pool;
  /** Another pool, whose connections are ended like those of the services. */
  readonly writersPool: Pool;
  /** Stops the database, ending every connection cleanly or as in a crash, and starts it again. */
  restartDatabase(mode: 'fast' | 'immediate'): Promise<void>;
  close(): Promise<void>;
}

/** @param lifeSeconds the lifetime of the tenants' tokens */
export async function openWorld(
  tenantCount: number,
  lifeSeconds: number,
  { receiver, memory }: { receiver: WebhookReceiver; memory: LaggingMemory },
): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-chaos-'));
  const options = { directory: join(folder, 'postgres'), durable: true, say: () => undefined };
  let cluster: Cluster = await startCluster(options);
  await ensureDatabase(cluster.url('postgres'), 'coordination');
  const databaseUrl = cluster.url('coordination', 'coordination');
  await migrate(databaseUrl, migrations);
  const issuer = await startIssuer();
  const poolOf = (applicationName: string, connectionsMax: number) =>
    createPool({
      url: applicationName === 'chaos' ? cluster.url('coordination') : databaseUrl,
      connectionsMax,
      applicationName,
      statementTimeoutMs: 30_000,
      lockTimeoutMs: 30_000,
      idleInTransactionTimeoutMs: 60_000,
      onError: () => undefined,
    });
  const [pool, writersPool] = [poolOf('chaos', 6), poolOf('slow-writers', 12)];

  for (const statement of keepPruned) await pool.run(statement);

  const tenants: Tenant[] = [];
  for (let n = 0; n < tenantCount; n += 1) tenants.push(await makeTenant(`chaos-${n}`));
  const pruned = await makeTenant('chaos-pruned');
  const ports = [await findFreePort(), await findFreePort()];
  const env = {
    CP_DATABASE_URL: databaseUrl,
    CP_DATABASE_CONNECTIONS_MAX: '12',
    CP_IAM_ISSUER: issuer.issuer,
    CP_IAM_JWKS_URL: issuer.jwksUrl,
    CP_LOG_LEVEL: 'warn',
    CP_WS_POLL_INTERVAL_SECONDS: '1',
    CP_ARTIFACT_FOLDER: join(folder, 'contents'),
    CP_SINKS_FILE: writeSinks(folder, receiver),
    // Deliveries of a killed worker are retried soon, and no receiver fails long enough to create a dead letter.
    CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '5',
    CP_OUTBOX_BACKOFF_BASE_SECONDS: '1',
    CP_OUTBOX_BACKOFF_MAX_SECONDS: '2',
    CP_OUTBOX_MAX_ATTEMPTS: '100',
    // Its default port may be in use by another program: the adapter would then exit.
    CP_CONTEXT_ADAPTER_METRICS_PORT: '0',
    CP_CONTEXT_PROVIDER: 'http',
    CP_CONTEXT_BASE_URL: memory.url,
    CP_CONTEXT_BATCH_SIZE: '100',
    CP_CONTEXT_TENANT_BATCH_SIZE: '200',
    CP_CONTEXT_POLL_INTERVAL_SECONDS: '1',
    CP_CONTEXT_RETRY_BACKOFF_BASE_SECONDS: '1',
    CP_CONTEXT_RETRY_BACKOFF_MAX_SECONDS: '2',
  };
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const apis = ports.map(
    (port, n) =>
      new ServiceProcess({
        name: `api ${n + 1}`,
        command: [`${program}/main.ts`, 'serve'],
        env: { ...env, CP_PORT: String(port) },
        readyUrl: `${urls[n]}/health/ready`,
        logFile: join(folder, `api-${n + 1}.log`),
      }),
  );
  const worker = new ServiceProcess({
    name: 'worker',
    command: [`${program}/worker.main.ts`],
    env,
    logFile: join(folder, 'worker.log'),
  });
  const adapter = new ServiceProcess({
    name: 'context adapter',
    command: [`${program}/context-adapter/context-adapter.main.ts`],
    env,
    logFile: join(folder, 'context-adapter.log'),
  });
  const processes = [...apis, worker, adapter];
  await Promise.all(processes.map((one) => one.start()));

  return {
    folder,
    tenants,
    pruned,
    apis,
    urls,
    worker,
    adapter,
    pool,
    writersPool,
    async restartDatabase(mode) {
      process.kill(cluster.pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
      await cluster.ended;
      cluster = await startCluster(options);
    },
    async close() {
      await Promise.all(processes.map((one) => one.stop()));
      await Promise.all([pool.close(), writersPool.close()]);
      await issuer.close();
      await cluster.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };

  async function makeTenant(slug: string): Promise<Tenant> {
    const found = await foundTenant(writersPool, {
      tenantSlug: slug,
      tenantName: slug,
      adminDisplayName: slug,
    });
    const iamPrincipalId = newId();
    await writersPool.run(sql`
      insert into iam_bindings (id, tenant_id, principal_id, issuer, iam_tenant_id, iam_principal_id, permissions)
      values (${newId()}, ${found.tenantId}, ${found.adminPrincipalId}, ${issuer.issuer}, ${found.tenantId},
        ${iamPrincipalId}, ${Object.keys(permissions)})`);
    const scope = ['control-plane:read', 'control-plane:write', 'control-plane:admin'];
    const claims = { sub: iamPrincipalId, tenant_id: found.tenantId, scope };
    return { id: found.tenantId, token: await issuer.sign(claims, { lifeSeconds }) };
  }
}

function writeSinks(folder: string, receiver: WebhookReceiver): string {
  const [path, secretFile] = [join(folder, 'sinks.json'), join(folder, 'webhook.secret')];
  writeFileSync(secretFile, receiver.secret, { mode: 0o600 });
  writeFileSync(path, JSON.stringify(receiver.sinks(secretFile)));
  return path;
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise<void>((done) => server.once('listening', () => done()));
  const { port } = server.address() as { port: number };
  await new Promise<void>((done) => server.close(() => done()));
  return port;
}

/** Retries until it succeeds: the database may be temporarily unavailable. */
export async function whenPossible<T>(work: () => Promise<T>, msMax = 60_000): Promise<T> {
  const deadline = performance.now() + msMax;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(100);
    }
  }
}
