import { randomUUID } from 'node:crypto';
import pg from 'pg';

/**
 * Makes coordination's journal begin a new epoch at the first connection of a service: its readers may have seen events
 * that the backup does not have. The restored database itself can't show it: it is the same cluster on the same timeline.
 */
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
    await client.query('update journal_epoch set cluster = $1', [`restored/${randomUUID()}`]);
  } finally {
    await client.end();
  }
}
