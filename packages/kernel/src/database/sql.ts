import { createHash } from 'node:crypto';

/** A statement ready for the driver. */
export interface Statement<Row> {
  readonly text: string;
  readonly values: readonly unknown[];
  /**
   * The name of the prepared statement. Absent if the statement's text varies: the server would have to retain every
   * variant.
   */
  readonly name?: string;
  /** Never set; it only carries the type of a returned row. */
  readonly row?: Row;
}

/** A fragment that static statements and other fragments contain as `${}`, with its own parameters. */
export class SqlPart {
  readonly strings: TemplateStringsArray;
  readonly parameters: readonly unknown[];

  constructor(strings: TemplateStringsArray, parameters: readonly unknown[]) {
    this.strings = strings;
    this.parameters = parameters;
  }
}

/** Creates a fragment for text that several statements share: ``part`t.id = ${id}` ``. */
export function part(strings: TemplateStringsArray, ...parameters: unknown[]): SqlPart {
  return new SqlPart(strings, parameters);
}

const namedTexts = new WeakMap<TemplateStringsArray, { text: string; name: string }>();

/**
 * A static statement: ``sql<TaskRow>`select * from tasks where id = ${id}` ``. Every `${}` is a parameter or a `part`,
 * never text, so nothing a client sends can become SQL. It runs as a named prepared statement: unnamed ones reached
 * 0.61 to 0.67 of its throughput (see docs/decisions/README.md).
 */
export function sql<Row>(strings: TemplateStringsArray, ...values: unknown[]): Statement<Row> {
  if (values.some((value) => value instanceof SqlPart)) {
    const parameters: unknown[] = [];
    return prepared(textWithParts(strings, values, parameters), parameters);
  }
  let named = namedTexts.get(strings);
  if (named === undefined) {
    const text = strings.reduce((left, right, index) => `${left}$${index}${right}`);
    named = { text, name: nameOf(text) };
    namedTexts.set(strings, named);
  }
  return { text: named.text, name: named.name, values };
}

const namesMax = 1000;
const names = new Map<string, string>();

/**
 * A composed statement with a name like a static one. Use it only for a few texts that clients can't extend, because
 * the server retains every variant.
 */
export function prepared<Row>(text: string, values: readonly unknown[]): Statement<Row> {
  let name = names.get(text);
  if (name === undefined) {
    if (names.size >= namesMax) throw new Error(`more than ${namesMax} texts of statements were prepared`);
    name = nameOf(text);
    names.set(text, name);
  }
  return { text, name, values };
}

/** @param parameters receives the parameters of the statement and its parts, in the order of the text */
function textWithParts(
  strings: TemplateStringsArray,
  values: readonly unknown[],
  parameters: unknown[],
): string {
  return strings.reduce((left, right, index) => {
    const value = values[index - 1];
    if (value instanceof SqlPart)
      return `${left}${textWithParts(value.strings, value.parameters, parameters)}${right}`;
    parameters.push(value);
    return `${left}$${parameters.length}${right}`;
  });
}

function nameOf(text: string): string {
  return createHash('sha1').update(text).digest('base64url');
}

/** The statement of a query builder (Kysely). Its text depends on the filters, so it has no name. */
export function compiled<Row>(query: {
  compile(): { readonly sql: string; readonly parameters: readonly unknown[]; readonly query: unknown };
  execute(): Promise<Row[]>;
}): Statement<Row> {
  const { sql: text, parameters } = query.compile();
  return { text, values: parameters };
}
