import type { Pool } from '@baton/kernel/database/db';
import { type Statement, sql } from '@baton/kernel/database/sql';

const pagesSoFar = sql<{ pages: number }>`
  select sum(pg_stat_get_xact_blocks_fetched(oid))::integer as pages from pg_class
  where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace`;

/** The number of table and index pages that a statement reads, including those within its functions. */
export function pagesReadBy(pool: Pool, statement: Statement<unknown>): Promise<number> {
  return pool.transaction(async (tx) => {
    const before = (await tx.row(pagesSoFar))?.pages ?? 0;
    await tx.rows(statement);
    return ((await tx.row(pagesSoFar))?.pages ?? 0) - before;
  });
}
