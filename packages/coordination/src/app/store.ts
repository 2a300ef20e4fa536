import type { Pool } from '@baton/kernel/database/db';
import { readMigrations } from '@baton/kernel/database/migrate';
import { refuseBareSessions, refusePooledListener, unlessAway } from '@baton/kernel/database/pooler';
import { createServicePool } from '@baton/kernel/database/service-pool';
import type { Logger } from '@baton/kernel/process/log';
import { enterEpoch } from '../ledger/epoch/epoch.ts';
import { migrationsDirectory } from '../service/migrations.ts';
import { logEpoch } from './health/epoch-watch.ts';
import { createHealth, type Health } from './health/health.ts';
import { createMeasures, type Measures } from './health/measures.ts';
import type { Settings } from './settings.ts';

/** Opened first by every process of coordination: the database and its metrics. */
export interface Store extends Measures {
  readonly pool: Pool;
  readonly health: Health;
}

/**
 * @param applicationName the name of each connection in the database
 * @param measures the process's metrics, if its parts share them
 * @throws PoolerRefused if a pooler in front of the database lacks a required feature
 */
export async function openStore(
  settings: Settings,
  log: Logger,
  applicationName: string,
  measures = createMeasures(),
): Promise<Store> {
  const headRevision = (await readMigrations(migrationsDirectory)).length;
  const pool = poolOf(settings, log, applicationName);
  await refusePoolers(pool, settings);
  const health = createHealth({ db: pool, ...measures, headRevision, log });
  return { pool, ...measures, health };
}

function poolOf(settings: Settings, log: Logger, applicationName: string): Pool {
  return createServicePool({
    url: settings.CP_DATABASE_URL,
    ...(settings.CP_DATABASE_LISTEN_URL !== '' && { listenUrl: settings.CP_DATABASE_LISTEN_URL }),
    namedStatements: settings.CP_DATABASE_NAMED_STATEMENTS,
    connectionsMax: settings.CP_DATABASE_CONNECTIONS_MAX,
    applicationName,
    statementTimeoutSeconds: settings.CP_STATEMENT_TIMEOUT_SECONDS,
    idleInTransactionSeconds: settings.CP_IDEMPOTENCY_PENDING_TTL_SECONDS,
    async onConnect(db) {
      logEpoch(log, await enterEpoch(db));
    },
    log,
  });
}

/** Refuses unsuitable poolers. An unavailable database doesn't prevent the start, because it may recover. */
async function refusePoolers(pool: Pool, settings: Settings): Promise<void> {
  const { CP_STATEMENT_TIMEOUT_SECONDS: seconds, CP_DATABASE_LISTEN_URL: listenUrl } = settings;
  try {
    await unlessAway(refuseBareSessions(pool, 'CP_DATABASE_URL', seconds));
    const through = listenUrl === '' ? 'CP_DATABASE_URL' : 'CP_DATABASE_LISTEN_URL';
    await unlessAway(refusePooledListener(pool, through, 'CP_DATABASE_LISTEN_URL'));
  } catch (error) {
    await pool.close();
    throw error;
  }
}
