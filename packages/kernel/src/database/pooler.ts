import type pg from 'pg';
import type { BoundedClient } from './bounded-client.ts';
import type { Db, Pool } from './db.ts';
import { findOwnProcess, findSession, type SessionRow } from './pooler.sql.ts';

/** The connection to the database drops settings that the service relies on: the start fails with this message. */
export class PoolerRefused extends Error {
  override readonly name = 'PoolerRefused';
}

/**
 * Refuses sessions without the settings that every connection requests: with a pooler that ignores them, statements
 * have no timeout and plans read whole tables. The settings can be set on the role instead.
 * @param setting the name of the setting with the address
 * @throws PoolerRefused with a sentence that contains the commands to run
 */
export async function refuseBareSessions(
  db: Db,
  setting: string,
  statementTimeoutSeconds: number,
): Promise<void> {
  const row = await db.row<SessionRow>({ text: findSession, values: [] });
  if (row === undefined) return;
  const wanted: [isSet: boolean, sql: string][] = [
    [row.utc, "TimeZone = 'UTC'"],
    [row.seqscan_off, 'enable_seqscan = off'],
    [row.jit_off, 'jit = off'],
    [row.statement_bound, `statement_timeout = '${statementTimeoutSeconds}s'`],
    [row.lock_bound, `lock_timeout = '${statementTimeoutSeconds}s'`],
    [row.idle_bound, `idle_in_transaction_session_timeout = '${statementTimeoutSeconds}s'`],
  ];
  const missing = wanted.filter(([isSet]) => !isSet).map(([, sql]) => `alter role ${row.role} set ${sql};`);
  if (missing.length > 0)
    throw new PoolerRefused(
      `The pooler of ${setting} does not pass on the settings of a session: run ${missing.join(' ')} and let the pooler reconnect.`,
    );
}

/**
 * Refuses a listening connection that leads through a pooler, on which LISTEN doesn't work and whose server connections
 * it would change for others. A pooler names process ids of its own making.
 * @throws PoolerRefused with a sentence that names the setting to change
 */
export async function refusePooledListener(
  pool: Pick<Pool, 'connect'>,
  url: string,
  listenUrl: string,
): Promise<void> {
  const client = (await pool.connect()) as BoundedClient;
  // Closing it below is an error to the driver, and one without a listener would end the process.
  client.on('error', () => undefined);
  try {
    const { rows } = await (client as pg.Client).query<{ pid: number }>(findOwnProcess);
    if (rows[0]?.pid === client.pid) return;
    throw new PoolerRefused(
      `${url} leads through a connection pooler: set ${listenUrl} to the address of PostgreSQL itself, for notifications do not pass a pooler.`,
    );
  } finally {
    client.discard();
  }
}

/**
 * Whether a check of the way to the database failed for another reason: then the database is unavailable, and may recover.
 */
export async function unlessAway(check: Promise<void>): Promise<void> {
  await check.catch((error: unknown) => {
    if (error instanceof PoolerRefused) throw error;
  });
}
