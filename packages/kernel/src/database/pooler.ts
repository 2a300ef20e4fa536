import type pg from 'pg';
import type { BoundedClient } from './bounded-client.ts';
import type { Db, Pool } from './db.ts';
import { findOwnProcess, findSession, type SessionRow } from './pooler.sql.ts';

/** The connection to the database drops settings that the service relies on. Startup fails with this message. */
export class PoolerRefused extends Error {
  override readonly name = 'PoolerRefused';
}

/**
 * Refuses sessions that lack the settings that every connection requests: with a pooler that ignores them, statements
 * have no timeout and plans read whole tables. The settings can be set on the role instead.
 * @param setting the name of the setting with the address
 * @throws PoolerRefused with a sentence that contains the required commands
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
 * Refuses a listening connection that goes through a pooler: LISTEN doesn't work there, and it would change shared
 * server connections. A pooler reports process ids that it generated.
 * @throws PoolerRefused with a sentence that contains the setting to change
 */
export async function refusePooledListener(
  pool: Pick<Pool, 'connect'>,
  url: string,
  listenUrl: string,
): Promise<void> {
  const client = (await pool.connect()) as BoundedClient;
  // The driver reports the close below as an error; without a listener, it would end the process.
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

/** Whether a check of the connection failed for another reason; if so, the database is unavailable and may recover. */
export async function unlessAway(check: Promise<void>): Promise<void> {
  await check.catch((error: unknown) => {
    if (error instanceof PoolerRefused) throw error;
  });
}
