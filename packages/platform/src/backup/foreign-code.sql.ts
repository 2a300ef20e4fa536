import pg from 'pg';
import { guardAddress, superuser } from '../postgres/server-process.ts';

/** PostgreSQL's own objects have lower ids. */
const firstOwnId = 16_384;
/** The superuser that initdb creates. */
const superuserId = 10;
const databasesMax = 100;
/** The languages that initdb creates with a fixed id: C, whose functions are libraries, internal, and SQL. */
const internalId = 12;
const clangId = 13;
const sqlId = 14;

/** pg_default and pg_global. */
const ownTablespaces: readonly number[] = [1663, 1664];
/** initdb grants these roles, which read settings and statistics, to pg_monitor; it grants no other roles. */
const monitorId = 3373;
const grantedToMonitor: readonly number[] = [3374, 3375, 3377];
/** Settings of a role or database that neither name code nor affect its lookup. */
const harmlessSetting = /^(log_\w+|\w+_timeout|work_mem|maintenance_work_mem|temp_buffers)=/;

/**
 * Catalogs in which Baton has no rows. PostgreSQL runs the code that they refer to automatically, for example the
 * comparison function of an operator class when autovacuum analyses a table.
 */
const catalogsWithoutOwnRows: Readonly<Record<string, string>> = {
  pg_am: 'an access method',
  pg_opfamily: 'an operator family',
  pg_opclass: 'an operator class',
  pg_amop: 'an operator of an operator family',
  pg_amproc: 'a function of an operator family',
  pg_operator: 'an operator',
  pg_cast: 'a cast',
  pg_conversion: 'a conversion',
  pg_transform: 'a transform',
  pg_language: 'a language',
};

/** Reads all rows of a catalog. */
type Read = <Row extends pg.QueryResultRow>(text: string) => Promise<Row[]>;

/**
 * Searches a cluster for code that would run with the superuser's rights, for example an event trigger on a
 * connection. Migrations run as the owner of a database, so Baton's own cluster contains none. The queries only read
 * base tables and use no operator, function or view, because the cluster itself defines these, and they would run here
 * as superuser. An attacker who writes PostgreSQL's pages or catalogs directly can hide more.
 * @param url the address of a database, as superuser @returns the name of the first such object; undefined if there is
 * none
 */
export async function findForeignCode(url: (database: string) => string): Promise<string | undefined> {
  const databases: string[] = [];
  const inCluster = await withReader(url('postgres'), async (read) => {
    for (const { datname, datallowconn } of await read<{ datname: string; datallowconn: boolean }>(
      'select datname, datallowconn from pg_catalog.pg_database',
    ))
      if (datallowconn) databases.push(datname);
      else if (datname !== 'template0') return `the database ${datname} that nobody can connect to`;
    return findInCluster(read);
  });
  if (inCluster !== undefined) return inCluster;
  if (databases.length > databasesMax) return `more than ${databasesMax} databases`;
  for (const database of databases.sort()) {
    const found = await withReader(url(encodeURIComponent(database)), findInDatabase);
    if (found !== undefined) return `${found} in the database ${database}`;
  }
  return undefined;
}

async function findInCluster(read: Read): Promise<string | undefined> {
  const roles = await read<{ oid: number; rolname: string; rolsuper: boolean }>(
    'select oid, rolname, rolsuper from pg_catalog.pg_authid',
  );
  const nameOf = (id: number) => roles.find(({ oid }) => oid === id)?.rolname ?? `number ${id}`;
  const second = roles.find(({ oid, rolsuper }) => rolsuper && oid !== superuserId);
  if (second !== undefined) return `the superuser ${second.rolname}`;

  const grants = await read<{ roleid: number; member: number }>(
    'select roleid, member from pg_catalog.pg_auth_members',
  );
  // The cluster's own roles must have only the rights that are granted to them directly: none may be a member of a
  // predefined role.
  const grant = grants.find(
    ({ roleid, member }) =>
      roleid < firstOwnId && !(member === monitorId && grantedToMonitor.includes(roleid)),
  );
  if (grant !== undefined) return `a grant of the role ${nameOf(grant.roleid)}`;

  const settings = await read<{ setconfig: string[] }>('select setconfig from pg_catalog.pg_db_role_setting');
  const setting = settings.flatMap(({ setconfig }) => setconfig).find((one) => !harmlessSetting.test(one));
  if (setting !== undefined) return `the setting ${setting.split('=', 1)[0]} of a role or database`;

  const [parameter] = await read<{ parname: string }>('select parname from pg_catalog.pg_parameter_acl');
  if (parameter !== undefined) return `a grant of the setting ${parameter.parname}`;

  const spaces = await read<{ oid: number; spcname: string }>(
    'select oid, spcname from pg_catalog.pg_tablespace',
  );
  const space = spaces.find(({ oid }) => !ownTablespaces.includes(oid));
  if (space !== undefined) return `the tablespace ${space.spcname}`;

  // The worker of a subscription connects to another server, and can run triggers as the subscription's owner.
  const [subscription] = await read<{ subname: string }>('select subname from pg_catalog.pg_subscription');
  return subscription && `the subscription ${subscription.subname}`;
}

async function findInDatabase(read: Read): Promise<string | undefined> {
  const [trigger] = await read<{ evtname: string }>('select evtname from pg_catalog.pg_event_trigger');
  if (trigger !== undefined) return `the event trigger ${trigger.evtname}`;

  const extensions = await read<{ extname: string }>('select extname from pg_catalog.pg_extension');
  const extension = extensions.find(({ extname }) => extname !== 'plpgsql');
  if (extension !== undefined) return `the extension ${extension.extname}`;

  const relations = await read<{ oid: number; relname: string; relowner: number }>(
    'select oid, relname, relowner from pg_catalog.pg_class',
  );
  const relation = relations.find(({ oid, relowner }) => hasForeignOwner(oid, relowner));
  if (relation !== undefined) return `the table or view ${relation.relname} of ${nounOf(relation.relowner)}`;

  for (const [catalog, noun] of Object.entries(catalogsWithoutOwnRows)) {
    const rows = await read<{ oid: number }>(`select oid from pg_catalog.${catalog}`);
    if (rows.some(({ oid }) => oid >= firstOwnId)) return noun;
  }
  return findFunction(read);
}

interface FunctionRow {
  readonly oid: number;
  readonly proname: string;
  readonly proowner: number;
  readonly prolang: number;
  readonly prosecdef: boolean;
  /** As a string, for example `{baton=X/baton,pg_monitor=X/baton}`. */
  readonly proacl: string | null;
}

async function findFunction(read: Read): Promise<string | undefined> {
  const languages = await read<{ oid: number; lanname: string; lanpltrusted: boolean }>(
    'select oid, lanname, lanpltrusted from pg_catalog.pg_language',
  );
  // By id if the id is fixed, because a language can be renamed.
  const trusted = languages
    .filter(({ oid, lanname }) => oid === sqlId || (oid > sqlId && lanname === 'plpgsql'))
    .map(({ oid }) => oid);
  const opened = languages.find(({ oid, lanpltrusted }) => lanpltrusted && !trusted.includes(oid));
  if (opened !== undefined) return `the language ${opened.lanname} that everybody may use`;
  const rows = await read<FunctionRow>(
    'select oid, proname, proowner, prolang, prosecdef, proacl from pg_catalog.pg_proc',
  );
  for (const row of rows) {
    const why = row.oid < firstOwnId ? whyChanged(row) : whyForeign(row, trusted);
    if (why !== undefined) return `the function ${row.proname} ${why}`;
  }
  return undefined;
}

/** Functions in C run with the rights of PostgreSQL's process, and internal ones run code of the server. */
function whyForeign({ oid, proowner, prolang }: FunctionRow, trusted: readonly number[]): string | undefined {
  if (hasForeignOwner(oid, proowner)) return `of ${nounOf(proowner)}`;
  return trusted.includes(prolang) ? undefined : 'in a language that only superusers may use';
}

/**
 * PostgreSQL's own functions can be altered, and the right to execute those that read and write files on the machine
 * can be granted.
 */
function whyChanged({ oid, proowner, prolang, prosecdef, proacl }: FunctionRow): string | undefined {
  if (hasForeignOwner(oid, proowner)) return 'of PostgreSQL with another owner';
  if (prosecdef || ![internalId, clangId, sqlId].includes(prolang))
    return 'of PostgreSQL with another language or the rights of its owner';
  return proacl === null || initialAcl.test(proacl) ? undefined : 'of PostgreSQL with a grant to others';
}

/**
 * Access lists as initdb creates them: it grants such functions to predefined roles only. pg_database_owner is
 * excluded, because the owner of a database is always a member of it.
 */
const initialAcl = new RegExp(`^\\{((${superuser}|(?!pg_database_owner=)pg_\\w+)=X/${superuser},?)+\\}$`);

/**
 * PostgreSQL's objects must belong to the superuser, and all others to the cluster's own roles: a function can run
 * with the rights of its owner, for example of pg_execute_server_program.
 */
function hasForeignOwner(oid: number, owner: number): boolean {
  return oid < firstOwnId ? owner !== superuserId : owner < firstOwnId;
}

function nounOf(owner: number): string {
  if (owner === superuserId) return 'a superuser';
  return owner < firstOwnId ? 'a predefined role' : 'another owner';
}

async function withReader<Value>(address: string, work: (read: Read) => Promise<Value>): Promise<Value> {
  const client = new pg.Client({
    connectionString: guardAddress(address),
    application_name: 'baton-restore',
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(async (text) => (await client.query(text)).rows);
  } finally {
    await client.end();
  }
}
