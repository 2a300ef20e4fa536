import pg from 'pg';

export interface ColumnRow {
  table: string;
  name: string;
  type: string;
  /** The name of the type, or of a domain's underlying type; `_text` for a list of strings. */
  base: string;
  not_null: boolean;
  default: string | null;
  /** `a` always, `d` by default, empty for no identity. */
  identity: string;
  /** `s` stored, empty for an ordinary column. */
  generated: string;
  comment: string | null;
  /** The check constraint on this column alone, or that of its domain. */
  checked: string | null;
}

interface TableRow {
  name: string;
  options: string | null;
  /** `partition by …` of a partitioned table. */
  key: string | null;
  parent: string | null;
  bound: string | null;
  comment: string | null;
}

interface Part {
  table: string;
  name: string;
  text: string;
}

/** Baton's tables: not the system's, and not the ledger of migrations, which the kernel creates. */
const own = `n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema' and c.relname <> 'schema_migrations'`;
const table = `c.oid::regclass::text collate "C" as table`;

const columnsText = `
  select ${table}, a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type,
    coalesce(b.typname, t.typname)::text as base, a.attnotnull as not_null, pg_get_expr(d.adbin, d.adrelid) as default,
    a.attidentity::text as identity, a.attgenerated::text as generated, col_description(c.oid, a.attnum) as comment,
    (select pg_get_constraintdef(k.oid) from pg_constraint k
     where k.contype = 'c' and (k.contypid = b.domain_id or k.conrelid = c.oid and k.conkey = array[a.attnum])
     order by k.conname limit 1) as checked
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
  join pg_type t on t.oid = a.atttypid
  left join (select d.oid as domain_id, b.typname from pg_type d join pg_type b on b.oid = d.typbasetype) b
    on b.domain_id = t.oid
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where ${own} and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
  order by 1, a.attnum`;

const tablesText = `
  select c.oid::regclass::text collate "C" as name, array_to_string(c.reloptions, ', ') as options,
    case c.relkind when 'p' then pg_get_partkeydef(c.oid) end as key,
    i.inhparent::regclass::text as parent, pg_get_expr(c.relpartbound, c.oid) as bound,
    obj_description(c.oid, 'pg_class') as comment
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  left join pg_inherits i on i.inhrelid = c.oid
  where ${own} and c.relkind in ('r', 'p')
  order by 1`;

// A partition repeats the constraints of its parent. Since PostgreSQL 18 a "not null" is a constraint too (contype n).
const constraintsText = `
  select ${table}, k.conname::text collate "C" as name, pg_get_constraintdef(k.oid) as text
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
  where ${own} and k.contype <> 'n' and k.conparentid = 0 and not c.relispartition
  order by 1, k.contype = 'p' desc, k.contype = 'u' desc, k.contype, 2`;

const indexesText = `
  select ${table}, x.relname::text collate "C" as name, pg_get_indexdef(x.oid) as text
  from pg_index i
  join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid
  join pg_namespace n on n.oid = c.relnamespace
  where ${own} and not x.relispartition
    and not exists (select from pg_constraint k where k.conindid = x.oid and k.contype in ('p', 'u', 'x'))
  order by 1, 2`;

const triggersText = `
  select ${table}, g.tgname::text collate "C" as name, pg_get_triggerdef(g.oid) as text
  from pg_trigger g join pg_class c on c.oid = g.tgrelid join pg_namespace n on n.oid = c.relnamespace
  where ${own} and not g.tgisinternal and g.tgparentid = 0
  order by 1, 2`;

const functionsText = `
  select p.oid::regprocedure::text collate "C" as name, pg_get_functiondef(p.oid) as text,
    obj_description(p.oid, 'pg_proc') as comment
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema' and p.prokind in ('f', 'p')
  order by 1`;

const viewsText = `
  select c.oid::regclass::text collate "C" as name, pg_get_viewdef(c.oid) as text, c.relkind = 'm' as materialized
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where ${own} and c.relkind in ('v', 'm')
  order by 1`;

const enumsText = `
  select t.oid::regtype::text collate "C" as name, string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder) as labels
  from pg_enum e join pg_type t on t.oid = e.enumtypid
  group by t.oid
  order by 1`;

const domainsText = `
  select t.oid::regtype::text collate "C" as name, format_type(t.typbasetype, t.typtypmod) as type,
    coalesce((select string_agg(' ' || pg_get_constraintdef(k.oid), '' order by k.conname) from pg_constraint k
      where k.contypid = t.oid and k.contype = 'c'), '') as checks
  from pg_type t join pg_namespace n on n.oid = t.typnamespace
  where t.typtype = 'd' and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
  order by 1`;

/** Sequences that no column owns. */
const sequencesText = `
  select c.oid::regclass::text collate "C" as name, format_type(s.seqtypid, null) as type, s.seqstart::text as start,
    s.seqincrement::text as increment
  from pg_sequence s join pg_class c on c.oid = s.seqrelid join pg_namespace n on n.oid = c.relnamespace
  where ${own} and not exists (
    select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i'))
  order by 1`;

/**
 * The schema of a database as readable, comparable text: the same for every PostgreSQL from 15 to 18, regardless of the
 * order of its migrations. It is read from the catalogs, because npm's PostgreSQL has no pg_dump.
 */
export async function dumpSchema(url: string): Promise<string> {
  return withCatalogs(url, async (read) => {
    const columns = Map.groupBy(await read<ColumnRow>(columnsText), (row) => row.table);
    const byTable = async (text: string) => Map.groupBy(await read<Part>(text), (row) => row.table);
    const constraints = await byTable(constraintsText);
    const indexes = await byTable(indexesText);
    const triggers = await byTable(triggersText);
    const tables = await read<TableRow>(tablesText);
    const enums = await read<{ name: string; labels: string }>(enumsText);
    const domains = await read<{ name: string; type: string; checks: string }>(domainsText);
    const functions = await read<{ name: string; text: string; comment: string | null }>(functionsText);
    const views = await read<{ name: string; text: string; materialized: boolean }>(viewsText);
    const sequences = await read<{ name: string; type: string; start: string; increment: string }>(
      sequencesText,
    );
    const blocks = [
      ...enums.map(({ name, labels }) => `create type ${name} as enum (${labels});`),
      ...domains.map(({ name, type, checks }) => `create domain ${name} as ${type}${checks};`),
      ...sequences.map(
        ({ name, type, start, increment }) =>
          `create sequence ${name} as ${type} start ${start} increment ${increment};`,
      ),
      ...tables.map((row) =>
        [
          tableText(row, columns.get(row.name) ?? [], constraints.get(row.name) ?? []),
          ...[...(indexes.get(row.name) ?? []), ...(triggers.get(row.name) ?? [])].map(
            ({ text }) => `${text};`,
          ),
          ...commentsOf(row, columns.get(row.name) ?? []),
        ].join('\n'),
      ),
      ...functions.map(({ name, text, comment }) =>
        [
          `${text.trim()};`,
          ...(comment === null ? [] : [`comment on function ${name} is ${literal(comment)};`]),
        ].join('\n'),
      ),
      ...views.map(
        ({ name, text, materialized }) =>
          `create ${materialized ? 'materialized view' : 'view'} ${name} as\n${unqualified(text)}`,
      ),
    ];
    return `${blocks.join('\n\n')}\n`;
  });
}

/** The columns of every table, ordered by table and by creation. */
export function readColumns(url: string): Promise<ColumnRow[]> {
  return withCatalogs(url, (read) => read<ColumnRow>(columnsText));
}

async function withCatalogs<T>(
  url: string,
  work: (read: <Row>(text: string) => Promise<Row[]>) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'baton-schema' });
  await client.connect();
  try {
    await client.query("set search_path to public; set timezone to 'UTC'");
    return await work(async <Row>(text: string) => (await client.query(text)).rows as Row[]);
  } finally {
    await client.end();
  }
}

function tableText(
  { name, options, key, parent, bound }: TableRow,
  columns: ColumnRow[],
  constraints: Part[],
): string {
  const tail = `${key === null ? '' : ` partition by ${key}`}${options === null ? '' : ` with (${options})`};`;
  if (parent !== null) return `create table ${name} partition of ${parent} ${bound}${tail}`;
  const lines = [
    ...columns.map(columnText),
    ...constraints.map((constraint) => `constraint ${constraint.name} ${constraint.text}`),
  ];
  return `create table ${name} (\n  ${lines.join(',\n  ')}\n)${tail}`;
}

function columnText({ name, type, not_null, default: value, identity, generated }: ColumnRow): string {
  const parts = [name, type];
  if (identity !== '') parts.push(`generated ${identity === 'a' ? 'always' : 'by default'} as identity`);
  else if (generated !== '') parts.push(`generated always as (${value}) stored`);
  else if (value !== null) parts.push(`default ${value}`);
  if (not_null) parts.push('not null');
  return parts.join(' ');
}

function commentsOf({ name, comment }: TableRow, columns: ColumnRow[]): string[] {
  const own = comment === null ? [] : [`comment on table ${name} is ${literal(comment)};`];
  const theirs = columns
    .filter((column) => column.comment !== null)
    .map((column) => `comment on column ${name}.${column.name} is ${literal(column.comment ?? '')};`);
  return [...own, ...theirs];
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** PostgreSQL 15 writes `tasks.id` in the text of a view where 16 and later write `id`. */
function unqualified(text: string): string {
  return text.replaceAll(/\b[a-z_]\w*\.(?=[a-z_"])/g, '');
}
