import pg from 'pg';

/** Finds the changes in a database since a point in time, in one round trip, however large the tables are. */
export interface StoreWatch {
  /** The present moment, for `changesSince`. */
  mark(): Promise<string>;
  /**
   * The changes committed since the mark, each listed once: `tasks update`. Rolled-back work, and updates that change
   * no value, aren't included.
   */
  changesSince(mark: string): Promise<string[]>;
  close(): Promise<void>;
}

/** The tables of a database, except PostgreSQL's own and those of the watch. */
export const watchedTables = `
  select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^(pg_|information_schema$|store_watch$)'
  order by 1`;

/**
 * Watches every table of a database by triggers. The cost of hashing the rows would grow with each row that earlier
 * tests left, and the counters of `pg_stat_user_tables` are up to a second late and include rolled-back work.
 * @param ignored columns (`table.column`) and tables (`table`) whose changes are not reported
 */
export async function watchStore(databaseUrl: string, ignored: readonly string[] = []): Promise<StoreWatch> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1, application_name: 'baton-test' });
  // `end()` does not wait for the connection to close, and dropping the database may still terminate it.
  pool.on('error', () => undefined);
  // A separate schema, because the leak test stores the tables of `public`.
  await pool.query(`
    create schema store_watch;
    create unlogged table store_watch.changes (
      xact xid8 not null default pg_current_xact_id(),
      change text not null
    );
    create index on store_watch.changes (xact);
    create function store_watch.note() returns trigger language plpgsql as $$
    begin
      insert into store_watch.changes (change) values (tg_argv[0] || ' ' || lower(tg_op));
      return null;
    end $$`);
  const { rows } = await pool.query<{ name: string }>(watchedTables);
  const triggers = rows
    .filter(({ name }) => !ignored.includes(name))
    .map(({ name }) => triggersOf(name, ignoredColumns(name, ignored)));
  await pool.query(triggers.join('\n'));
  return {
    async mark() {
      const { rows } = await pool.query('select pg_current_snapshot()::text as mark');
      return rows[0].mark;
    },
    async changesSince(mark) {
      // Selected by transaction, not by the order of the rows: a transaction that was open at the mark may have
      // committed after it.
      const { rows } = await pool.query<{ change: string }>(
        `select distinct change from store_watch.changes
         where xact >= pg_snapshot_xmin($1) and not pg_visible_in_snapshot(xact, $1) order by 1`,
        [mark],
      );
      return rows.map(({ change }) => change);
    },
    close: () => pool.end(),
  };
}

function ignoredColumns(table: string, ignored: readonly string[]): string[] {
  return ignored
    .filter((path) => path.startsWith(`${table}.`))
    .map((path) => `'${path.slice(table.length + 1)}'`);
}

function triggersOf(table: string, ignored: readonly string[]): string {
  const names = ignored.join();
  // Compares the binary images of rows, because columns of type json have no equality operator.
  const isChanged =
    ignored.length === 0
      ? 'old.* *<> new.*'
      : `to_jsonb(old) - array[${names}] is distinct from to_jsonb(new) - array[${names}]`;
  const note = `execute function store_watch.note('${table}')`;
  return `
    create trigger store_watch_rows after insert or delete on ${table} for each row ${note};
    create trigger store_watch_updates after update on ${table} for each row when (${isChanged}) ${note};
    create trigger store_watch_truncate after truncate on ${table} for each statement ${note};`;
}
