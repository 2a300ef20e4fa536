import { type ColumnRow, readColumns } from './schema-dump.ts';

/** The types of a column in a row (db.ts) and in a statement's parameters. */
const types: Readonly<Record<string, string>> = {
  uuid: 'string',
  text: 'string',
  varchar: 'string',
  bpchar: 'string',
  timestamptz: 'string',
  inet: 'string',
  cidr: 'string',
  xid8: 'string',
  pg_lsn: 'string',
  tsvector: 'string',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  float4: 'number',
  float8: 'number',
  numeric: 'number',
  bool: 'boolean',
  jsonb: 'unknown',
  json: 'unknown',
  bytea: 'Buffer',
};

/**
 * TypeScript for the tables of a database, as the query builder requires them: names unchanged from the database, one
 * interface per table, and `Tables` for all. @throws Error for a column with an unknown type
 */
export async function writeTableTypes(url: string): Promise<string> {
  const tables = Map.groupBy(await readColumns(url), (column) => column.table);
  const interfaces = [...tables].map(
    ([table, columns]) => `interface ${interfaceName(table)} {\n${columns.map(fieldText).join('')}}\n`,
  );
  const all = [...tables.keys()].map((table) => `  ${table}: ${interfaceName(table)};\n`).join('');
  const used = ['Generated', 'GeneratedAlways'].filter((name) =>
    interfaces.some((text) => text.includes(`${name}<`)),
  );
  const imports =
    used.length === 0 ? '' : `import type { ${used.join(', ')} } from '@baton/kernel/database/db';\n\n`;
  return `${imports}export interface Tables {\n${all}}\n\n${interfaces.join('\n')}`;
}

function interfaceName(table: string): string {
  const words = table.split(/[^A-Za-z0-9]+/);
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Table`;
}

function fieldText(column: ColumnRow): string {
  const bare = typeOf(column);
  const nullable = column.not_null || bare === 'unknown' ? bare : `${bare} | null`;
  const made = column.identity === 'a' || column.generated !== '';
  const optional = column.identity === 'd' || column.default !== null;
  const type = made ? `GeneratedAlways<${nullable}>` : optional ? `Generated<${nullable}>` : nullable;
  return `  ${column.name}: ${type};\n`;
}

function typeOf({ table, name, base, checked }: ColumnRow): string {
  const words = wordsOf(checked);
  if (words.length > 0) return words.join(' | ');
  const list = base.startsWith('_');
  const type = types[list ? base.slice(1) : base];
  if (type === undefined)
    throw new Error(`${table}.${name} has type ${base}: declare in schema-types.ts how it arrives.`);
  return list ? `${type}[]` : type;
}

/**
 * The values of `check (status in ('open', 'shut'))`, on a column or a domain, as a TypeScript type; empty for any
 * other check.
 */
function wordsOf(check: string | null): string[] {
  const [, list = ''] = /^CHECK \(\(\w+ = ANY \(ARRAY\[(.+)\]\)\)\)$/.exec(check ?? '') ?? [];
  return [...list.matchAll(/'((?:[^'])+)'::text/g)].map(([, word]) => `'${word}'`);
}
