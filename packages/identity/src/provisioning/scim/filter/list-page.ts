import { z } from 'zod';
import { type Db, sqlState } from '@baton/kernel/database/db';
import type { Reply } from '@baton/kernel/http/service';
import type { Json, JsonObject } from '@baton/values/wire';
import { fail } from '../../errors.ts';
import type { Settings } from '../../settings.ts';
import { limitConcurrency } from '../access/concurrency-limit.ts';
import type { ResourceKind } from '../protocol/attributes.ts';
import { scimListReply } from '../protocol/scim-answer.ts';
import { parseSelection, type Selection, selectionQuery } from '../protocol/selection.ts';
import { type Filter, parseFilter } from './filter-grammar.ts';
import { type PageOrder, ResourceList, type Shape } from './resource-list.sql.ts';

/** The default for `count`, the size of a page. */
const pageSize = 100;
/**
 * The maximum size of one page in bytes; a page always has at least one resource. Building a list needs several times
 * as much memory.
 */
export const pageBytesMax = 4 * 1024 * 1024;
/** PostgreSQL's code for a statement that timed out. */
const queryCanceled = '57014';

/** The query of a list. `SearchRequest` has the same names in its body. */
export const listQuery = {
  filter: z.string().max(16_384).optional(),
  startIndex: z.string().max(16_384).optional(),
  count: z.string().max(16_384).optional(),
  sortBy: z.string().max(16_384).optional(),
  sortOrder: z.string().max(16_384).optional(),
  ...selectionQuery,
};

export type { Shape };

/** The parameters of a list request. */
export interface ListOrder extends PageOrder {
  readonly filter: string | undefined;
  readonly selection: Selection;
}

type Query = { readonly [Name in keyof typeof listQuery]?: Json | undefined };

/** @throws Refusal `scim_invalid_value` */
export function parseListOrder(query: Query, settings: Settings): ListOrder {
  const sortOrder = (parseText(query.sortOrder) ?? 'ascending').toLowerCase();
  if (sortOrder !== 'ascending' && sortOrder !== 'descending') fail('scim_invalid_value');
  return {
    filter: parseText(query.filter),
    startIndex: Math.max(1, parseInteger(query.startIndex) ?? 1),
    count: Math.min(Math.max(0, parseInteger(query.count) ?? pageSize), settings.IAM_SCIM_MAX_PAGE_SIZE),
    sortBy: parseText(query.sortBy),
    isDescending: sortOrder === 'descending',
    selection: parseSelection(query),
  };
}

/** The parameters of a `.search` body, whose names can be in any case. @throws Refusal `scim_invalid_value` */
export function parseSearch(body: JsonObject, settings: Settings): ListOrder {
  const sent = new Map(Object.entries(body).map(([name, value]) => [name.toLowerCase(), value]));
  const query = Object.fromEntries(
    Object.keys(listQuery).map((name) => [name, sent.get(name.toLowerCase())]),
  );
  return parseListOrder(query, settings);
}

/**
 * One page of a source's resources, and the total number. A page ends early if its resources would together exceed
 * 4 MiB: the client continues at `startIndex + itemsPerPage`.
 * @param source its id, the base address of resources, and the columns and the size of a resource
 * @param view converts rows into resources; it runs under the limit, too, because it has the page in memory
 * @throws Refusal `scim_invalid_filter`; `scim_invalid_value` for an unknown attribute to sort by; `scim_too_many`
 * when a filter takes longer than a statement may; `unavailable` when too many lists of the source are running
 */
export async function listPage<Row>(
  db: Db,
  kind: ResourceKind,
  order: ListOrder,
  source: { sourceId: string; base: string } & Shape,
  view: (rows: readonly Row[]) => Promise<JsonObject[]>,
): Promise<Reply<JsonObject>> {
  const filter = filterOf(order);
  const list = new ResourceList(kind, filter, source);
  const pageStatement = list.page<Row>(order, source, pageBytesMax);
  return runSearch(source.sourceId, filter, async () => {
    const rows = order.count === 0 ? [] : await db.rows(pageStatement);
    const found = rows[0]?.found ?? 0;
    // A page that is not full is the last one, so the total follows from its position.
    const isLast = found > 0 ? found < order.count : order.startIndex === 1 && order.count > 0;
    const total = isLast ? order.startIndex - 1 + found : ((await db.row(list.total()))?.total ?? 0);
    return scimListReply(total, order.startIndex, await view(rows));
  });
}

/** @throws Refusal `scim_invalid_filter` */
export function filterOf({ filter }: ListOrder): Filter | undefined {
  return filter === undefined ? undefined : parseFilter(filter);
}

/**
 * Runs a search under the limit of its source.
 * @throws Refusal `scim_too_many` when a filter takes longer than a statement may, `unavailable` when too many are
 * running
 */
export async function runSearch<T>(
  sourceId: string,
  filter: Filter | undefined,
  search: () => Promise<T>,
): Promise<T> {
  try {
    return await limitConcurrency('lists', sourceId, search);
  } catch (error) {
    if (sqlState(error) !== queryCanceled || filter === undefined) throw error;
    return fail('scim_too_many', {}, { cause: error });
  }
}

function parseText(value: Json | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : fail('scim_invalid_value');
}

function parseInteger(value: Json | undefined): number | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const number = typeof value === 'string' && /^[+-]?\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && Math.abs(number) < 1e12
    ? number
    : fail('scim_invalid_value');
}
