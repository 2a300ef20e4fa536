import pg from 'pg';

/**
 * The restored database itself can't show that its journal's history went back: it is the same cluster on the same
 * timeline. Without what it knows of its server, the journal begins a new epoch at the first connection (0205). A backup
 * of an older Baton has no such column yet.
 */
const forgetServer = `
  do $$ begin
    if exists (
      select from pg_attribute where attrelid = 'journal_epoch'::regclass and attname = 'server_started_at')
    then update journal_epoch set server_started_at = null;
    else update journal_epoch set cluster = 'restored';
    end if;
  end $$`;

/** Makes coordination's journal begin a new epoch: its readers may have seen events that the backup does not have. */
export async function beginNewHistory(url: (database: string) => string): Promise<void> {
  const client = new pg.Client({
    connectionString: url('coordination'),
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
