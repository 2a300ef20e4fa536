import { join } from 'node:path';
import { type Db, isUnreachable, type Pool, sqlState } from '@baton/kernel/database/db';
import { appliedRevision, DatabaseNewerError, migrate, readMigrations } from '@baton/kernel/database/migrate';
import { refuseBareSessions } from '@baton/kernel/database/pooler';
import { createServicePool } from '@baton/kernel/database/service-pool';
import type { Logger } from '@baton/kernel/process/log';
import type { Settings } from './settings.ts';

export const migrationsDirectory = join(import.meta.dirname, '../../migrations');

/** The database can't be used: startup fails with this message. */
export class DatabaseNotReadyError extends Error {
  override readonly name = 'DatabaseNotReadyError';
}

/** @param onConnect runs on every new connection before its first use */
export function poolOf(
  settings: Settings,
  log: Logger,
  onConnect: (db: Db) => Promise<void> = async () => undefined,
): Pool {
  return createServicePool({
    url: settings.IAM_DATABASE_URL,
    namedStatements: settings.IAM_DATABASE_NAMED_STATEMENTS,
    connectionsMax: settings.IAM_DATABASE_CONNECTIONS_MAX,
    applicationName: 'baton-identity',
    statementTimeoutSeconds: settings.IAM_STATEMENT_TIMEOUT_SECONDS,
    idleInTransactionSeconds: settings.IAM_STATEMENT_TIMEOUT_SECONDS,
    onConnect,
    log,
  });
}

/**
 * Migrates the database if the settings allow it, and refuses one that this version can't use.
 * @throws DatabaseNotReadyError, PoolerRefused, DatabaseNewerError, MigrationChangedError
 */
export async function prepareDatabase(settings: Settings, pool: Pool): Promise<void> {
  try {
    if (settings.IAM_CREATE_SCHEMA_ON_STARTUP) await migrate(settings.IAM_DATABASE_URL, migrationsDirectory);
    else await refuseOtherRevision(pool);
    await refuseBareSessions(pool, 'IAM_DATABASE_URL', settings.IAM_STATEMENT_TIMEOUT_SECONDS);
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    const why = (error as Error).message;
    throw new DatabaseNotReadyError(`The database of identity (IAM_DATABASE_URL) cannot be reached: ${why}`, {
      cause: error,
    });
  }
}

async function refuseOtherRevision(pool: Pool): Promise<void> {
  const known = (await readMigrations(migrationsDirectory)).length;
  const found = await readRevision(pool);
  if (found > known) throw new DatabaseNewerError(found, known);
  if (found < known)
    throw new DatabaseNotReadyError(
      `The database of identity is at revision ${found} and needs ${known}: run baton identity migrate, or start once with IAM_CREATE_SCHEMA_ON_STARTUP=true.`,
    );
}

async function readRevision(pool: Pool): Promise<number> {
  try {
    const row = await pool.row<{ revision: number }>({ text: appliedRevision, values: [] });
    return row?.revision ?? 0;
  } catch (error) {
    const undefinedTable = '42P01';
    if (sqlState(error) === undefinedTable) return 0;
    throw error;
  }
}
