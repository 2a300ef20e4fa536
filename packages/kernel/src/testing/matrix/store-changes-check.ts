import pg from 'pg';
import { type StoreWatch, watchedTables } from './store-changes.ts';

/**
 * Inserts, updates, deletes and truncates in every table, and compares the reported changes with the real ones. The
 * generated rows violate constraints, so the constraints are dropped: the database can't be used for anything else
 * afterwards. @returns one line per change that was not reported, or was reported with others: `tasks update: noticed
 * as nothing`
 */
export async function findUnnoticedChanges(
  databaseUrl: string,
  watch: StoreWatch,
  ignoredTables: readonly string[] = [],
): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'baton-test' });
  await client.connect();
  try {
    await client.query(loosen);
    const tables = (await client.query<{ name: string }>(watchedTables)).rows.map(({ name }) => name);
    const problems: string[] = [];
    for (const table of tables.filter((name) => !ignoredTables.includes(name))) {
      await client.query('select pg_temp.loosen($1)', [table]);
      const column = (await client.query<{ column: string; value: string }>(plainColumn, [table])).rows[0];
      if (column === undefined) throw new Error(`${table} has no column that this check can change`);
      const changes: Record<string, string> = {
        insert: `insert into ${table} default values`,
        update: `update ${table} set ${column.column} = ${column.value}`,
        delete: `delete from ${table}`,
        truncate: `truncate ${table}`,
      };
      for (const [operation, statement] of Object.entries(changes)) {
        const mark = await watch.mark();
        await client.query(statement);
        const noticed = (await watch.changesSince(mark)).join(', ');
        if (noticed !== `${table} ${operation}`)
          problems.push(`${table} ${operation}: noticed as ${noticed || 'nothing'}`);
      }
    }
    return problems;
  } finally {
    await client.end();
  }
}

/**
 * Removes constraints and triggers that could refuse a row of default values, or that would also change another table.
 */
const loosen = `
  create function pg_temp.loosen(it regclass) returns void language plpgsql as $$
  declare
    found text;
  begin
    execute format('alter table %s disable trigger user', it);
    for found in select tgname from pg_trigger where tgrelid = it and tgname like 'store\\_watch\\_%' loop
      execute format('alter table %s enable trigger %I', it, found);
    end loop;
    for found in select conname from pg_constraint where conrelid = it and contype in ('p', 'u', 'f', 'c', 'x') loop
      execute format('alter table %s drop constraint if exists %I cascade', it, found);
    end loop;
    for found in select attname from pg_attrdef default_of
      join pg_attribute on attrelid = adrelid and attnum = adnum and attgenerated = ''
      join pg_depend on classid = 'pg_attrdef'::regclass and objid = default_of.oid and refclassid = 'pg_proc'::regclass
      where adrelid = it loop
      execute format('alter table %s alter column %I drop default', it, found);
    end loop;
    for found in select indexrelid::regclass::text from pg_index where indrelid = it and indisunique loop
      execute format('drop index %s', found);
    end loop;
    for found in select attname from pg_attribute
      where attrelid = it and attnum > 0 and attnotnull and attidentity = '' and not attisdropped loop
      execute format('alter table %s alter column %I drop not null', it, found);
    end loop;
  end $$`;

/** A column, and a value that none of its rows has yet. */
const plainColumn = `
  select quote_ident(attname) as "column", value from pg_attribute join (values
    ('text', $$'zebra'$$), ('uuid', 'gen_random_uuid()'), ('int4', '-7'), ('int8', '-7'), ('bool', 'null'),
    ('timestamptz', 'clock_timestamp()'), ('jsonb', $$'{"zebra": 1}'$$), ('json', $$'{"zebra": 1}'$$), ('bytea', $$'zebra'$$)
  ) as types (type, value) on atttypid = type::regtype
  where attrelid = $1::regclass and attnum > 0 and attidentity = '' and attgenerated = '' and not attisdropped
  order by attnum limit 1`;
