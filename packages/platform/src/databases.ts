import { join } from 'node:path';
import { DatabaseNewerError, migrate } from '@baton/kernel/migrate';
import { type PlatformSettings, projectRoot } from './config.ts';
import type { Home } from './home.ts';
import { ensureDatabase, serverVersion } from './postgres/databases.sql.ts';
import { type SupervisedCluster, superviseCluster } from './postgres/supervisor.ts';
import { failureCode, StartError } from './start-error.ts';

/** Where both services keep their data. */
export interface Databases {
  readonly iamDatabaseUrl: string;
  readonly cpDatabaseUrl: string;
  /** The built-in PostgreSQL, unless both databases are elsewhere. */
  readonly cluster: SupervisedCluster | undefined;
}

const versionMin = 15;

/** The databases that the settings name; for those not named, starts the built-in PostgreSQL and creates them. */
export async function openDatabases(
  settings: PlatformSettings,
  home: Home,
  say: (line: string) => void,
  onGiveUp: (reason: StartError) => void,
): Promise<Databases> {
  const { IAM_DATABASE_URL: iam, CP_DATABASE_URL: cp } = settings;
  if (iam !== '' && iam === cp)
    throw new StartError(
      'IAM_DATABASE_URL and CP_DATABASE_URL are the same: each service needs its own database.',
    );
  if (iam !== '' && cp !== '') return { iamDatabaseUrl: iam, cpDatabaseUrl: cp, cluster: undefined };
  const options = { directory: home.path('postgres'), durable: true, say };
  const cluster = await superviseCluster(options, onGiveUp);
  try {
    const { url } = cluster.current();
    for (const name of ['identity', 'coordination']) await ensureDatabase(url('postgres'), name);
    return {
      iamDatabaseUrl: iam || url('identity', 'identity'),
      cpDatabaseUrl: cp || url('coordination', 'coordination'),
      cluster,
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/**
 * Brings both databases to their newest migration.
 * @returns one sentence for the user
 * @throws StartError for a database that can't be reached, is too old, or was migrated by a newer Baton
 */
export async function migrateDatabases({ iamDatabaseUrl, cpDatabaseUrl }: Databases): Promise<string> {
  const migrating = [
    migrateOne('identity', 'IAM_DATABASE_URL', iamDatabaseUrl),
    migrateOne('coordination', 'CP_DATABASE_URL', cpDatabaseUrl),
  ] as const;
  // When one fails, the caller stops the server: not while the other is at work there.
  await Promise.allSettled(migrating);
  const [identity, coordination] = await Promise.all(migrating);
  const count = identity.applied.length + coordination.applied.length;
  const summary = count === 0 ? 'Both databases are up to date' : `${count} migrations applied`;
  return `${summary} (identity at ${identity.head}, coordination at ${coordination.head}).`;
}

async function migrateOne(service: string, setting: string, url: string) {
  try {
    const version = await serverVersion(url);
    if (version < versionMin)
      throw new StartError(
        `The database of ${service} runs PostgreSQL ${version}: Baton needs ${versionMin} or later (${setting}).`,
      );
    return await migrate(url, join(projectRoot, 'packages', service, 'migrations'));
  } catch (cause) {
    if (cause instanceof StartError) throw cause;
    if (cause instanceof DatabaseNewerError)
      throw new StartError(`The database of ${service} belongs to a newer Baton: ${cause.message}`, {
        cause,
      });
    const reason = failureCode(cause) || (cause as Error).message;
    throw new StartError(`The database of ${service} can't be used (${reason}): check ${setting}.`, {
      cause,
    });
  }
}
