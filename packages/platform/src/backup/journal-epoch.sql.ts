import pg from 'pg';

/**
 * The restored database itself can't detect that its journal was reset to an earlier state, because its system
 * identifier and timeline are the same as before. Without a recorded server start, a journal starts a new epoch at the
 * first connection (decision 0205). A backup of an older Baton may lack the column; its migration has the same effect.
 */
const forgetServer = `
  do $$ begin
    if exists (
      select from pg_attribute
      where attrelid = to_regclass('journal_epoch') and attname = 'server_started_at')
    then update journal_epoch set server_started_at = null;
    end if;
  end $$`;

/**
 * Makes both journals start a new epoch, because their readers may have seen events that the backup lacks. Connects as
 * the owner of each database, because a trigger in the backup runs with the rights of the role that writes.
 */
export async function startNewEpoch(url: (database: string, role: string) => string): Promise<void> {
  for (const database of ['identity', 'coordination']) {
    const client = new pg.Client({
      connectionString: url(database, database),
      application_name: 'baton-restore',
      connectionTimeoutMillis: 10_000,
      query_timeout: 60_000,
    });
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query(forgetServer);
    } finally {
      await client.end();
    }
  }
}
