import { join } from 'node:path';
import { DatabaseNewerError, migrate } from '@baton/kernel/database/migrate';
import { openState } from './bootstrap/state.ts';
import { type PlatformSettings, projectRoot } from './config.ts';
import type { Home } from './home.ts';
import { type DatabasePlaces, isSamePlace, placesOfHome } from './home-databases.ts';
import { ensureDatabase, hasTenant, serverVersion } from './postgres/databases.sql.ts';
import { type SupervisedCluster, superviseCluster } from './postgres/supervisor.ts';
import { failureCode, StartError } from './start-error.ts';

/** The databases of both services. */
export interface Databases {
  readonly iamDatabaseUrl: string;
  readonly cpDatabaseUrl: string;
  /** The built-in PostgreSQL, unless the databases are external. */
  readonly cluster: SupervisedCluster | undefined;
}

const versionMin = 15;

/** Uses the databases of the settings; otherwise starts the built-in PostgreSQL and creates them. */
export async function openDatabases(
  settings: PlatformSettings,
  home: Home,
  say: (line: string) => void,
  onGiveUp: (reason: StartError) => void,
): Promise<Databases> {
  const { IAM_DATABASE_URL: iam, CP_DATABASE_URL: cp } = settings;
  if (iam !== '' && iam === cp)
    throw new StartError(
      'IAM_DATABASE_URL and CP_DATABASE_URL must be different: each service needs its own database.',
    );
  if (iam !== '' && cp !== '') return { iamDatabaseUrl: iam, cpDatabaseUrl: cp, cluster: undefined };
  const options = { directory: home.path('postgres'), durable: true, say };
  const cluster = await superviseCluster(options, onGiveUp);
  try {
    const { url } = cluster.current();
    for (const name of ['identity', 'coordination']) await ensureDatabase(url('postgres'), name);
    return {
      iamDatabaseUrl: url('identity', 'identity'),
      cpDatabaseUrl: url('coordination', 'coordination'),
      cluster,
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/**
 * Rejects databases without this Baton's data, in which it would start over with no data.
 * @param places where the databases are according to the settings
 * @throws StartError if they contain no data of this folder's Baton, or can't be reached
 */
export async function refuseUnrelatedDatabases(
  home: Home,
  places: DatabasePlaces,
  { iamDatabaseUrl, cpDatabaseUrl }: Databases,
): Promise<void> {
  const known = placesOfHome(home.directory);
  if (known === undefined || isSamePlace(known, places)) return;
  const { tenantId } = openState(home, '');
  for (const [service, setting, url] of [
    ['identity', 'IAM_DATABASE_URL', iamDatabaseUrl],
    ['coordination', 'CP_DATABASE_URL', cpDatabaseUrl],
  ] as const) {
    const isFound = await hasTenant(url, tenantId).catch((cause: Error) => {
      throw unusable(service, setting, cause);
    });
    if (!isFound)
      throw new StartError(
        `The database of ${setting} contains no data of the Baton in ${home.directory}. Move its data there first (docs/operations.md), or set BATON_HOME to another folder.`,
      );
  }
}

/**
 * Brings both databases to their newest migration.
 * @returns a summary for the user
 * @throws StartError if a database can't be reached, is too old, or was migrated by a newer Baton
 */
export async function migrateDatabases({ iamDatabaseUrl, cpDatabaseUrl }: Databases): Promise<string> {
  const migrating = [
    migrateOne('identity', 'IAM_DATABASE_URL', iamDatabaseUrl),
    migrateOne('coordination', 'CP_DATABASE_URL', cpDatabaseUrl),
  ] as const;
  // If one migration fails, the caller stops the server, but only after the other one has finished.
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
        `The database of ${service} runs PostgreSQL ${version}. Baton requires ${versionMin} or later (${setting}).`,
      );
    return await migrate(url, join(projectRoot, 'packages', service, 'migrations'));
  } catch (cause) {
    if (cause instanceof StartError) throw cause;
    if (cause instanceof DatabaseNewerError)
      throw new StartError(
        `The database of ${service} was migrated by a newer version of Baton: ${cause.message}`,
        {
          cause,
        },
      );
    throw unusable(service, setting, cause as Error);
  }
}

function unusable(service: string, setting: string, cause: Error): StartError {
  const code = failureCode(cause);
  // A failure without a code, for example of a migration, is explained by its message, and the setting is not the
  // cause.
  const reason = code ? ` (${code}). Check ${setting}.` : `: ${cause.message}`;
  return new StartError(`Cannot use the database of ${service}${reason}`, { cause });
}
