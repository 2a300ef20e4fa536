import pg from 'pg';
import { guardedAddress } from '../postgres/server-process.ts';

/** Ids below are PostgreSQL's own. */
const firstOwnId = 16_384;

/**
 * Everything in one database that can run code with the superuser's rights. Migrations run as the owner of a database,
 * so Baton's superuser owns nothing that PostgreSQL did not make itself. Base tables instead of views: a view can lie.
 */
const foreignInDatabase = `
  select 'the event trigger ' || evtname as found from pg_catalog.pg_event_trigger
  union all
  select 'the extension ' || extname from pg_catalog.pg_extension where extname <> 'plpgsql'
  union all
  select 'the function ' || proname || ' of a superuser'
  from pg_catalog.pg_proc p join pg_catalog.pg_authid r on r.oid = p.proowner
  where p.oid >= ${firstOwnId} and r.rolsuper
  union all
  select 'the table or view ' || relname || ' of a superuser'
  from pg_catalog.pg_class c join pg_catalog.pg_authid r on r.oid = c.relowner
  where c.oid >= ${firstOwnId} and r.rolsuper
  limit 1`;

/** The same for the cluster. The superuser of initdb has id 10; a grant of PostgreSQL's own roles lets others run programs. */
const foreignInCluster = `
  select 'the superuser ' || rolname as found from pg_catalog.pg_authid where rolsuper and oid <> 10
  union all
  select 'a grant of the role ' || r.rolname
  from pg_catalog.pg_auth_members m join pg_catalog.pg_authid r on r.oid = m.roleid
  where r.rolname in ('pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files')
     or r.rolsuper
  union all
  select 'the setting ' || split_part(setting, '=', 1) || ' of a role or database'
  from pg_catalog.pg_db_role_setting, unnest(setconfig) as setting
  where setting ~* '^(.*_preload_libraries|dynamic_library_path|event_triggers|jit_provider)='
  union all
  select 'the database ' || datname from pg_catalog.pg_database where not datallowconn and datname <> 'template0'
  limit 1`;

/**
 * Looks for code of which a backup is the carrier: an event trigger runs when somebody signs in to the database, a
 * function of the superuser can run any program. Somebody who writes PostgreSQL's pages by hand can hide more.
 * @param url the address of a database, as superuser
 * @returns what was found, as a noun with its name; undefined when there is nothing
 */
export async function findForeignCode(url: (database: string) => string): Promise<string | undefined> {
  const inCluster = await ask<{ found: string }>(url('postgres'), foreignInCluster);
  if (inCluster[0] !== undefined) return inCluster[0].found;
  const names = `select datname from pg_catalog.pg_database where datallowconn order by datname`;
  for (const { datname } of await ask<{ datname: string }>(url('postgres'), names)) {
    const [first] = await ask<{ found: string }>(url(encodeURIComponent(datname)), foreignInDatabase);
    if (first !== undefined) return `${first.found} in the database ${datname}`;
  }
  return undefined;
}

async function ask<Row extends pg.QueryResultRow>(address: string, text: string): Promise<Row[]> {
  const client = new pg.Client({
    connectionString: guardedAddress(address),
    application_name: 'baton-restore',
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    // Otherwise an operator of the backup could match better than PostgreSQL's, and would run here as superuser.
    await client.query('set search_path to pg_catalog');
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
