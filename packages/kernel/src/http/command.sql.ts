import { sql } from '../database/sql.ts';

/** Limits the duration of each later statement in the transaction. */
export function setStatementTimeout(timeoutMs: number) {
  return sql`select set_config('statement_timeout', ${String(timeoutMs)}, true)`;
}
