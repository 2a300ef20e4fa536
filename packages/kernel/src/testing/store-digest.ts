import pg from 'pg';

/**
 * A hash of every row of every table of a database, to see that nothing was changed.
 * @param ignored columns whose change is no change (`table.column`), and tables (`table`)
 */
export async function digestStore(
  client: pg.Client | pg.Pool,
  ignored: readonly string[] = [],
): Promise<string> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace order by 1`,
  );
  const digests = tables
    .filter(({ name }) => !ignored.includes(name))
    .map(({ name }) => {
      const columns = ignored
        .filter((path) => path.startsWith(`${name}.`))
        .map((path) => path.slice(name.length + 1));
      const row = columns.reduce((left, column) => `${left} - '${column}'`, 'to_jsonb(t)');
      return `select '${name}', count(*), md5(string_agg((${row})::text, ',' order by (${row})::text)) from ${name} t`;
    });
  const { rows } = await client.query({ text: digests.join('\nunion all\n'), rowMode: 'array' });
  return JSON.stringify(rows);
}
