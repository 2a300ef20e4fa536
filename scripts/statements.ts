import { spawn } from 'node:child_process';
import { globSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import pg from 'pg';
import { findSqlParts, findSqlTemplates, type SqlDeclaration, type SqlTemplate } from './sql-templates.ts';

export interface StatementReport {
  /** One line per statement whose declared row type differs from the one that PostgreSQL reports. */
  readonly problems: readonly string[];
  /** The number of statements whose declared row was compared. */
  readonly compared: number;
}

interface Column {
  readonly name: string;
  /** The TypeScript type of a value that isn't null. */
  readonly type: string;
}

/**
 * Compares every static statement in the packages' `.sql.ts` files with PostgreSQL's description of it: the columns
 * must be the same, and each declared type must fit the column's values. Nothing is executed. Whether a column can be
 * null isn't compared, because the server doesn't describe it.
 * @param root a copy of the work tree, which this changes
 * @param urlOf the address of a migrated database for a package
 * @param listed statements that can't be compared, as `file: name`, with the reason
 */
export async function checkStatements(
  root: string,
  urlOf: (pack: string) => string,
  listed: Readonly<Record<string, string>>,
): Promise<StatementReport> {
  const files = globSync('packages/*/src/**/*.sql.ts', { cwd: root }).sort();
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const sources = new Map(files.map((file) => [file, read(file)]));
  // Parts that several features use are in files of their own.
  const shared = globSync('packages/*/src/**/*.sql-parts.ts', { cwd: root }).sort().map(read);
  const parts = new Map([...sources.values(), ...shared].flatMap((source) => [...findSqlParts(source)]));
  const problems: string[] = [];
  const covered: [file: string, names: string[]][] = [];
  let compared = 0;
  for (const [file, source] of sources) {
    const declarations = findSqlTemplates(source, new Map([...parts, ...findSqlParts(source)]));
    covered.push([file, coveredNames(declarations)]);
    const templates = declarations.flatMap(({ templates: inside }) => inside).filter(({ row }) => row);
    if (templates.length === 0) continue;
    compared += templates.length;
    const described = await describeAll(urlOf(/^packages\/([^/]+)/.exec(file)?.[1] as string), templates);
    problems.push(
      ...described.flatMap(({ problem }) => (problem === undefined ? [] : [`${file}${problem}`])),
    );
    writeFileSync(join(root, file), withChecks(root, file, source, described));
  }
  writeFileSync(join(root, 'statement-rows.ts'), rowTypes);
  writeFileSync(join(root, 'statement-lists.ts'), listsOf(covered, listed));
  return { problems: [...problems, ...(await typeProblems(root))], compared };
}

/** The declarations that contain a statement, or that refer to a declaration in the same file that contains one. */
function coveredNames(declarations: readonly SqlDeclaration[]): string[] {
  const covered = new Set(
    declarations.filter(({ templates }) => templates.length > 0).map(({ name }) => name),
  );
  for (let size = -1; size < covered.size; ) {
    size = covered.size;
    for (const { name, names } of declarations)
      if ([...covered].some((one) => names.has(one))) covered.add(name);
  }
  return declarations
    .filter(({ name, isExported }) => isExported && covered.has(name))
    .map(({ name }) => name);
}

interface Described {
  readonly template: SqlTemplate;
  readonly columns: readonly Column[];
  readonly problem?: string;
}

async function describeAll(url: string, templates: readonly SqlTemplate[]): Promise<Described[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const all: Described[] = [];
    for (const template of templates) {
      try {
        const columns = columnsOf(await describe(client, template.text));
        const twice = columns.find(
          ({ name }, index) => columns.findIndex((one) => one.name === name) < index,
        );
        all.push({
          template,
          columns,
          ...(twice && { problem: `(${template.line}) returns ${twice.name} twice` }),
        });
      } catch (error) {
        all.push({ template, columns: [], problem: `(${template.line}) ${(error as Error).message}` });
      }
    }
    return all;
  } finally {
    await client.end();
  }
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

/** Lets the server parse a statement and describe its result, without running it. */
function describe(client: pg.Client, text: string): Promise<readonly Field[]> {
  return new Promise((resolve, reject) => {
    let fields: readonly Field[] = [];
    // The driver's interface of a custom query; @types/pg has no type for it.
    const query = {
      submit(connection: { parse(query: object): void; describe(what: object): void; sync(): void }) {
        connection.parse({ text, name: '', types: [] });
        connection.describe({ type: 'S', name: '' });
        connection.sync();
      },
      handleRowDescription(message: { fields: readonly Field[] }) {
        fields = message.fields;
      },
      handleError: reject,
      handleReadyForQuery: () => resolve(fields),
    };
    client.query(query as unknown as pg.Submittable);
  });
}

/** The type of a PostgreSQL value in packages/kernel/src/database/db.ts, by the PostgreSQL type's number. */
const typesByOid: Readonly<Record<number, string>> = Object.fromEntries(
  (
    [
      ['boolean', [16]],
      // Whole numbers, floats, bigint and numeric.
      ['number', [20, 21, 23, 26, 700, 701, 1700]],
      // Text, names, uuid, timestamptz, and internal types, which have no form of their own.
      ['string', [18, 19, 25, 1042, 1043, 1184, 2205, 2950, 3220, 5069]],
      // json and jsonb: whatever value was stored.
      ['any', [114, 3802]],
      ['Uint8Array', [17]],
      ['readonly boolean[]', [1000]],
      ['readonly number[]', [1005, 1007, 1021, 1022, 1231]],
      // The driver returns the elements of a bigint[] as strings.
      ['readonly string[]', [1002, 1009, 1015, 1016, 2951]],
      ['readonly any[]', [199, 3807]],
      // void, the result of a function without one.
      ["''", [2278]],
    ] as const
  ).flatMap(([type, oids]) => oids.map((oid) => [oid, type])),
);

function columnsOf(fields: readonly Field[]): Column[] {
  return fields.map(({ name, dataTypeID }) => {
    const type = typesByOid[dataTypeID];
    if (type === undefined)
      throw new Error(`column ${name} has the type ${dataTypeID}, not known in statements.ts`);
    return { name, type };
  });
}

/**
 * The types that compare a declared row with the described one. A problem is a string type, which tsc prints as the
 * type of a member.
 */
const rowTypes = `
type KeyOf<Row> = Row extends unknown ? keyof Row : never;
type ValueOf<Row, Key> = Row extends unknown ? (Key extends keyof Row ? Row[Key] : never) : never;
type Misfit<Value, Given, Key> = unknown extends Value ? never
  : [NonNullable<Value>] extends [Given] ? never : \`\${Key & string} is declared with another type\`;
export type Problem<Row, Given> = { of:
  | \`\${Exclude<KeyOf<Row>, keyof Given> & string} is declared, but not returned\`
  | \`\${Exclude<keyof Given, KeyOf<Row>> & string} is returned, but not declared\`
  | { [Key in keyof Given]: Key extends KeyOf<Row> ? Misfit<ValueOf<Row, Key>, Given[Key], Key> : never }[keyof Given] };
export type Checked<Row, Found extends never> = Row;
type Of<Value> = Value extends (...args: never) => infer Result ? Result : Value;
type IsStatement<Value> = [Extract<Of<Value>, { text: string; values: readonly unknown[] }>] extends [never] ? false : true;
export type Statements<Module, Known> = {
  [Name in keyof Module]: IsStatement<Module[Name]> extends true ? (Name extends Known ? never : Name) : never;
};
export type Nothing<Found extends never> = Found;
`;

/** The source with checks of its row types added, without changing the line numbers. */
function withChecks(root: string, file: string, source: string, described: readonly Described[]): string {
  let text = source;
  for (const { template, columns, problem } of described.toReversed()) {
    if (template.row === undefined || problem !== undefined) continue;
    const { start, end } = template.row;
    const declared = source.slice(start, end);
    const given = columns.map(({ name, type }) => `${JSON.stringify(name)}: ${type}`).join('; ');
    const checked = `$Checked<${declared}, $Problem<${declared.replaceAll('\n', ' ')}, { ${given} }>['of']>`;
    text = `${text.slice(0, start)}${checked}${text.slice(end)}`;
  }
  const types = relative(dirname(join(root, file)), join(root, 'statement-rows.ts'));
  return `${text}\nimport type { Checked as $Checked, Problem as $Problem } from '${types}';\n`;
}

/**
 * A file that compiles only if each module's statements are covered or listed, and if each entry of the list is needed.
 */
function listsOf(
  covered: readonly (readonly [string, readonly string[]])[],
  listed: Readonly<Record<string, string>>,
): string {
  const lines = ["import type { Nothing, Statements } from './statement-rows.ts';"];
  for (const [index, [file, names]] of covered.entries()) {
    const known = Object.keys(listed).filter((key) => key.startsWith(`${file}: `));
    const listedNames = known.map((key) => key.slice(file.length + 2));
    const union = (all: readonly string[]) => all.map((name) => JSON.stringify(name)).join(' | ') || 'never';
    const module = `typeof m${index}`;
    lines.push(
      `import type * as m${index} from './${file}';`,
      `/* ${file}: returns a statement that isn't compared */ export type A${index} = Nothing<Statements<${module}, ${union([...names, ...listedNames])}>[keyof ${module}]>;`,
      `/* ${file}: needn't be listed any more */ export type B${index} = Nothing<Exclude<${union(listedNames)}, Statements<${module}, ${union(names)}>[keyof ${module}]>>;`,
    );
  }
  const files = covered.map(([file]) => file);
  const gone = Object.keys(listed).filter((key) => !files.includes(key.split(': ')[0] as string));
  lines.push(
    ...gone.map(
      (key, index) => `/* ${key}: there is no such file */ export type G${index} = Nothing<'listed'>;`,
    ),
  );
  return `${lines.join('\n')}\n`;
}

async function typeProblems(root: string): Promise<string[]> {
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false };
  const config = {
    extends: './tsconfig.json',
    compilerOptions,
    include: ['packages/*/src/**/*.sql.ts', 'statement-*.ts'],
  };
  writeFileSync(join(root, 'tsconfig.statements.json'), JSON.stringify(config));
  const tsc = realpathSync(join(root, 'node_modules', '.bin', 'tsc'));
  const args = [tsc, '-p', 'tsconfig.statements.json', '--noErrorTruncation', '--pretty', 'false'];
  const output = await new Promise<string>((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', () => resolve(printed));
  });
  const lists = readFileSync(join(root, 'statement-lists.ts'), 'utf8').split('\n');
  return output
    .split('\n')
    .filter((line) => /error TS/.test(line))
    .map((line) => {
      const found = line.replace(
        /error TS2344: Type '(.*)' does not satisfy the constraint 'never'\.$/,
        '$1',
      );
      const [, number, rest] = /^statement-lists\.ts\((\d+),\d+\): (.*)$/.exec(found) ?? [];
      const about =
        number === undefined ? undefined : /^\/\* (.*?) \*\//.exec(lists[Number(number) - 1] ?? '')?.[1];
      return about === undefined ? found : `${about}: ${rest}`;
    });
}
