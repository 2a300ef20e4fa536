import { sql } from '../database/sql.ts';

/** Bounds each later statement of the transaction. */
export function setStatementTimeout(timeoutMs: number) {
  return sql`select set_config('statement_timeout', ${String(timeoutMs)}, true)`;
}
