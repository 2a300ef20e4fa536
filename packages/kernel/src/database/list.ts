import { type RawBuilder, type SelectQueryBuilder, type SqlBool, type StringReference, sql } from 'kysely';
import { type CursorForm, cutPage, decodeCursor, type Page, type Position } from '../http/paging.ts';
import { type Db, queryBuilder } from './db.ts';
import type { Statement } from './sql.ts';

export type { SelectQueryBuilder } from 'kysely';

/** A condition of a list's query, as text with parameters, if the query builder can't express it. */
export const condition = sql<SqlBool>;
/** A fragment of a condition. */
export const fragment = sql;
/** The name of a column, for a condition. */
export const reference = sql.ref;

/**
 * Paginated lists: an order is declared once as data, from which the query, the cursor and the end of the page are
 * derived.
 */

/** The order of a list. An index must have its columns in this order, or every page sorts the whole table. */
export interface ListOrder<Row> {
  /** A part of each cursor, so that cursors of another list or order are refused. */
  readonly cursor: string;
  /**
   * The columns in order, with their types in a cursor; together they are unique. `timestamp?` may be null, and then
   * counts as the end of time.
   */
  readonly columns: { readonly [Column in keyof Row & string]?: CursorForm };
  readonly direction: 'asc' | 'desc';
  /** The alias of the table in the query, if another table has columns with the same names. */
  readonly table?: string;
}

/** The statement of one page, which reads one row more than the page size, and the order of its rows. */
export interface PageQuery<Row> {
  readonly statement: Statement<Row>;
  readonly order: ListOrder<Row>;
  readonly page: Page;
}

/** One page, in the schema that `pageOf` declares. */
export interface ItemPage<Item> {
  items: Item[];
  /** Null on the last page. */
  nextCursor: string | null;
}

/**
 * Runs the statement of a page.
 * @param itemOf converts a row to its wire format
 */
export async function listPage<Row, Item>(
  db: Db,
  query: PageQuery<Row>,
  itemOf: (row: Row) => Item,
): Promise<ItemPage<Item>> {
  return itemsOf(await db.rows(query.statement), query, itemOf);
}

/** The page of rows that were read in the order of a list, one more than the page size if more exist. */
export function itemsOf<Row, Item>(
  found: readonly Row[],
  { order, page }: Omit<PageQuery<Row>, 'statement'>,
  itemOf: (row: Row) => Item,
): ItemPage<Item> {
  const columns = Object.keys(order.columns) as (keyof Row)[];
  const { rows, nextCursor } = cutPage(found, page, order.cursor, (row) =>
    columns.map((column) => row[column] as Position[number]),
  );
  return { items: rows.map(itemOf), nextCursor };
}

/**
 * Adds the order and the bounds of a page to a query.
 * @throws Refusal `invalid_cursor`
 */
export function pageQuery<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  order: ListOrder<Row>,
  page: Page,
): PageQuery<Row> {
  const { sql: text, parameters } = bounded(query, order, page).compile();
  return { statement: { text, values: parameters }, order, page };
}

/**
 * One page over several lists: each is read in its own order from its own part of an index.
 * @param parts have no row in common
 * @throws Refusal `invalid_cursor`
 */
export function mergedPageQuery<DB, TB extends keyof DB, Row>(
  parts: readonly SelectQueryBuilder<DB, TB, Row>[],
  order: ListOrder<Row>,
  page: Page,
): PageQuery<Row> {
  const pages = parts.map((part) => sql`select * from (${bounded(part, order, page)}) as part`);
  return joined(sql`select * from (${sql.join(pages, sql` union all `)}) as parts`, order, page);
}

/** Rows that belong to owners, for `ownedPageQuery`. */
export interface OwnedRows<DB, TB extends keyof DB, Row> {
  /** A query of the owners; `part` refers to them as `owner`. */
  readonly owners: RawBuilder<unknown>;
  /** The rows of one owner. */
  readonly part: SelectQueryBuilder<DB, TB, Row>;
  /**
   * Whether the first row of each owner is looked up before the others, so that rows are read only for owners with a
   * share in the page. Use it for parts that an index contains in the list's order.
   */
  readonly headsFirst: boolean;
}

/**
 * A page of a list whose rows belong to owners: those of each owner are read in the list's order from its own part of
 * an index.
 * @param parts have no row in common
 * @throws Refusal `invalid_cursor`
 */
export function ownedPageQuery<DB, TB extends keyof DB, Row>(
  parts: readonly OwnedRows<DB, TB, Row>[],
  order: ListOrder<Row>,
  page: Page,
): PageQuery<Row> {
  const pages = parts.map(({ owners, part, headsFirst }) => {
    const chosen = headsFirst ? firstOwners(owners, part, order, page) : owners;
    return sql`select part.* from (${chosen}) as owner cross join lateral (${bounded(part, order, page)}) as part`;
  });
  return joined(sql`select * from (${sql.join(pages, sql` union all `)}) as parts`, order, page);
}

/** The owners whose first rows come first in the list; there are as many owners as rows to be read. */
function firstOwners<DB, TB extends keyof DB, Row>(
  owners: RawBuilder<unknown>,
  part: SelectQueryBuilder<DB, TB, Row>,
  order: ListOrder<Row>,
  page: Page,
): RawBuilder<unknown> {
  const columns = Object.keys(order.columns).map(
    (column) => sql`${sql.ref(`head.${column}`)} ${sql.raw(order.direction)}`,
  );
  return sql`
    select owner.* from (${owners}) as owner cross join lateral (${bounded(part, order, { ...page, limit: 0 })}) as head
    order by ${sql.join(columns)} limit ${page.limit + 1}`;
}

/**
 * The rows of a table that meet a condition, as a source of a query that narrows them further: PostgreSQL finds them by
 * this condition only, whatever its estimates for the other conditions.
 * @param order if given, the rows are read in the order of an index, starting at the page
 */
export function rowsWhere<Row>(
  table: string,
  holds: RawBuilder<SqlBool>,
  order?: { readonly order: ListOrder<Row>; readonly page: Page },
): RawBuilder<Row> {
  if (order === undefined) return sql<Row>`(select * from ${sql.table(table)} where ${holds} offset 0)`;
  const { direction, columns } = order.order;
  const names = Object.keys(columns).map((column) => sql.ref(column));
  const start = startOf(order.order, order.page);
  const behind = start === undefined ? sql<SqlBool>`true` : startsBehind(names, direction, start);
  const sorted = names.map((name) => sql`${name} ${sql.raw(direction)}`);
  return sql<Row>`(
    select * from ${sql.table(table)} where ${holds} and ${behind} order by ${sql.join(sorted)} offset 0)`;
}

function joined<Row>(pages: RawBuilder<unknown>, order: ListOrder<Row>, page: Page): PageQuery<Row> {
  const columns = Object.keys(order.columns).map(
    (column) => sql`${sql.ref(column)} ${sql.raw(order.direction)}`,
  );
  const query = sql`${pages} order by ${sql.join(columns)} limit ${page.limit + 1}`;
  const { sql: text, parameters } = query.compile(queryBuilder());
  return { statement: { text, values: parameters }, order, page };
}

function bounded<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  order: ListOrder<Row>,
  page: Page,
): SelectQueryBuilder<DB, TB, Row> {
  const columns = Object.entries(order.columns).map(([column, form]) => {
    const reference = sql.ref(order.table === undefined ? column : `${order.table}.${column}`);
    return form === 'timestamp?' ? sql`coalesce(${reference}, 'infinity')` : reference;
  });
  let ordered = onlyThose(query, order, page).limit(page.limit + 1);
  for (const column of columns) ordered = ordered.orderBy(column, order.direction);
  const start = startOf(order, page);
  if (start === undefined) return ordered;
  return ordered.where(startsBehind(columns, order.direction, start));
}

function onlyThose<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  { table }: ListOrder<Row>,
  { only }: Page,
): SelectQueryBuilder<DB, TB, Row> {
  if (only === undefined) return query;
  const column = sql.ref(table === undefined ? only.column : `${table}.${only.column}`);
  return query.where(sql<SqlBool>`${column} = any (${only.ids}::uuid[])`);
}

/**
 * Compared as one row, because with a column-by-column comparison PostgreSQL couldn't use the index to find the start.
 */
function startsBehind(
  columns: readonly RawBuilder<unknown>[],
  direction: 'asc' | 'desc',
  start: readonly (string | number)[],
): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${sql.join(columns)}) ${sql.raw(direction === 'desc' ? '<' : '>')} (${sql.join(start)})`;
}

/**
 * The values of the order's columns after which a page starts, undefined for the first page.
 * @throws Refusal `invalid_cursor`
 */
export function startOf<Row>(order: ListOrder<Row>, { cursor }: Page): (string | number)[] | undefined {
  if (cursor === undefined) return undefined;
  const position = decodeCursor(order.cursor, cursor, Object.values(order.columns) as CursorForm[]);
  return position.map((value) => value ?? 'infinity');
}

/** Narrows a query to rows that have these values; a column without a value is not restricted. */
export function matching<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  values: { readonly [Column in StringReference<DB, TB>]?: string | number | undefined },
): SelectQueryBuilder<DB, TB, Row> {
  let narrowed = query;
  for (const [column, value] of Object.entries<string | number | undefined>(values))
    if (value !== undefined) narrowed = narrowed.where(sql.ref<string | number>(column), '=', value);
  return narrowed;
}
