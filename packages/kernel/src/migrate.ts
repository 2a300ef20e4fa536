import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

/** The database holds a migration that this program doesn't know: it was written by a newer Baton. */
export class DatabaseNewerError extends Error {
  constructor(found: number, known: number) {
    super(`The database is at revision ${found}, this Baton knows only up to ${known}. Use the newer Baton.`);
    this.name = 'DatabaseNewerError';
  }
}

/** A migration that was applied has another text now; migrations are never edited once they have run. */
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
 * Brings the database up to the newest migration. Safe beside rivals: the ledger row is inserted first, so a second
 * process waits on its primary key and then finds the work done.
 * @returns the versions applied by this call, and the head.
 * @throws DatabaseNewerError, MigrationChangedError
 */
export async function migrate(
  databaseUrl: string,
  directory: string,
): Promise<{ applied: number[]; head: number }> {
  const migrations = await readMigrations(directory);
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'baton-migrate' });
  await client.connect();
  try {
    await createLedger(client);
    const applied: number[] = [];
    const done = await readLedger(client);
    const newest = Math.max(0, ...done.keys());
    if (newest > migrations.length) throw new DatabaseNewerError(newest, migrations.length);
    for (const migration of migrations) {
      const checksum = done.get(migration.version);
      if (checksum === undefined) {
        if (await apply(client, migration)) applied.push(migration.version);
      } else if (checksum !== migration.checksum) throw new MigrationChangedError(migration.file);
    }
    return { applied, head: migrations.length };
  } finally {
    await client.end();
  }
}

async function createLedger(client: pg.Client): Promise<void> {
  // `create table if not exists` may still collide with a rival on the catalog's unique index: then it exists.
  await client
    .query(
      `create table if not exists schema_migrations (
         version integer primary key, file text not null, checksum text not null,
         applied_at timestamptz(3) not null default now())`,
    )
    .catch((error: unknown) => {
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

async function apply(client: pg.Client, { version, file, text, checksum }: Migration): Promise<boolean> {
  await client.query('begin');
  try {
    const { rowCount } = await client.query(
      'insert into schema_migrations (version, file, checksum) values ($1, $2, $3) on conflict do nothing',
      [version, file, checksum],
    );
    if (rowCount === 1) await client.query(text);
    await client.query('commit');
    return rowCount === 1;
  } catch (error) {
    await client.query('rollback');
    throw new Error(`Migration ${file} failed: ${(error as Error).message}`, { cause: error });
  }
}

/** The newest applied version, 0 for an empty ledger. For the readiness probe. */
export const appliedRevision = 'select coalesce(max(version), 0) as revision from schema_migrations';
