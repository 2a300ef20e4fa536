import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

/** The database has a migration that this program doesn't have: a newer Baton migrated it. */
export class DatabaseNewerError extends Error {
  constructor(found: number, known: number) {
    super(`The database is at revision ${found}, but this Baton knows only ${known}. Use the newer Baton.`);
    this.name = 'DatabaseNewerError';
  }
}

/** A migration file was edited after it had been applied. */
export class MigrationChangedError extends Error {
  constructor(file: string) {
    super(`Migration ${file} was changed after it had been applied. Restore it and write a new one.`);
    this.name = 'MigrationChangedError';
  }
}

interface Migration {
  version: number;
  file: string;
  text: string;
  checksum: string;
}

const rehearsalLockTimeoutMs = 3000;

const ledger = `create table if not exists schema_migrations (
  version integer primary key, file text not null, checksum text not null,
  applied_at timestamptz(3) not null default now())`;

/** Reads `NNNN_name.sql` files in order; their numbers must run from 1 without a gap. */
export async function readMigrations(directory: string): Promise<Migration[]> {
  const files = (await readdir(directory)).filter((file) => /^\d{4}_.+\.sql$/.test(file)).sort();
  return Promise.all(
    files.map(async (file, index) => {
      const version = Number(file.slice(0, 4));
      if (version !== index + 1) throw new Error(`Migration ${file} should have number ${index + 1}.`);
      const text = await readFile(join(directory, file), 'utf8');
      return { version, file, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

/**
 * Brings the database up to the newest migration. Several processes may do so concurrently: each inserts the ledger row
 * first, so the second waits on its primary key and then finds the migration applied.
 * @returns the versions applied by this call, and the head.
 * @throws DatabaseNewerError, MigrationChangedError
 */
export async function migrate(
  databaseUrl: string,
  directory: string,
): Promise<{ applied: number[]; head: number }> {
  const migrations = await readMigrations(directory);
  return connected(databaseUrl, async (client) => {
    await createLedger(client);
    const applied: number[] = [];
    for (const migration of pendingOf(migrations, await readLedger(client)))
      if (await apply(client, migration)) applied.push(migration.version);
    return { applied, head: migrations.length };
  });
}

/**
 * A dry run: runs the pending migrations on the real data in one transaction, which is rolled back. It holds locks on
 * the changed objects until then, so it fails after 3 s instead of queueing behind a lock of live traffic.
 * @returns the versions that `migrate` would apply, and the head.
 * @throws DatabaseNewerError, MigrationChangedError, and an Error with the name of the migration that would fail
 */
export async function rehearseMigrations(
  databaseUrl: string,
  directory: string,
): Promise<{ pending: number[]; head: number }> {
  const migrations = await readMigrations(directory);
  return connected(databaseUrl, async (client) => {
    await client.query(`begin; set local lock_timeout = '${rehearsalLockTimeoutMs}ms'`);
    await client.query(ledger);
    const pending = pendingOf(migrations, await readLedger(client));
    for (const migration of pending) {
      try {
        await insertAndRun(client, migration);
        await client.query('set constraints all immediate');
      } catch (error) {
        throw failureOf(migration, error);
      }
    }
    await client.query('rollback');
    return { pending: pending.map(({ version }) => version), head: migrations.length };
  });
}

async function connected<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'baton-migrate' });
  // A lost connection fails the current or the next statement. Without a listener, the event would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The migrations that are not in the ledger. @throws DatabaseNewerError, MigrationChangedError */
function pendingOf(migrations: readonly Migration[], done: ReadonlyMap<number, string>): Migration[] {
  const newest = Math.max(0, ...done.keys());
  if (newest > migrations.length) throw new DatabaseNewerError(newest, migrations.length);
  const changed = migrations.find(({ version, checksum }) => (done.get(version) ?? checksum) !== checksum);
  if (changed !== undefined) throw new MigrationChangedError(changed.file);
  return migrations.filter(({ version }) => !done.has(version));
}

async function createLedger(client: pg.Client): Promise<void> {
  // Two concurrent `create table if not exists` can still collide on a unique index of the catalog. In that case the
  // table exists.
  await client.query(ledger).catch((error: unknown) => {
    const code = error instanceof pg.DatabaseError ? error.code : undefined;
    if (code !== '23505' && code !== '42P07') throw error;
  });
}

async function readLedger(client: pg.Client): Promise<Map<number, string>> {
  const { rows } = await client.query<{ version: number; checksum: string }>(
    'select version, checksum from schema_migrations',
  );
  return new Map(rows.map((row) => [row.version, row.checksum]));
}

async function apply(client: pg.Client, migration: Migration): Promise<boolean> {
  await client.query('begin');
  try {
    const isApplied = await insertAndRun(client, migration);
    await client.query('commit');
    return isApplied;
  } catch (error) {
    await client.query('rollback');
    throw failureOf(migration, error);
  }
}

/** Inserts the ledger row and runs the migration; returns false when another process has applied it. */
async function insertAndRun(
  client: pg.Client,
  { version, file, text, checksum }: Migration,
): Promise<boolean> {
  const { rowCount } = await client.query(
    'insert into schema_migrations (version, file, checksum) values ($1, $2, $3) on conflict do nothing',
    [version, file, checksum],
  );
  if (rowCount === 1) await client.query(text);
  return rowCount === 1;
}

function failureOf({ file }: Migration, cause: unknown): Error {
  return new Error(`Migration ${file} failed: ${(cause as Error).message}`, { cause });
}

/** Reads the newest applied version, 0 for an empty ledger; for the readiness probe. */
export const appliedRevision = 'select coalesce(max(version), 0) as revision from schema_migrations';
