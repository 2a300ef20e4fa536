import pg from 'pg';

/**
 * The restored database itself can't show that its journal's history went back: it is the same cluster on the same
 * timeline. Without what it knows of its server, a journal begins a new epoch at the first connection (0205). A backup of
 * an older Baton may lack the column; then its migration does the same.
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
 * Makes both journals begin a new epoch: their readers may have seen events that the backup does not have. It connects
 * as the owner of each database, because a trigger of the backup runs with the rights of whoever writes.
 */
export async function beginNewHistory(url: (database: string, role: string) => string): Promise<void> {
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
