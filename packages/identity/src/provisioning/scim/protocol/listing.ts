import { type Db, sqlState } from '@baton/kernel/db';
import type { Json, JsonObject } from '@baton/kernel/wire';
import { z } from 'zod';
import type { Settings } from '../../settings.ts';
import { fail } from '../../errors.ts';
import { parseFilter } from '../filter/filter-grammar.ts';
import type { Selection } from './documents.ts';
import { inTurn } from './turns.ts';
import { ResourceList } from './listing.sql.ts';
import type { ResourceKind } from './schemas.ts';

const listUrn = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
const pageSize = 100;

/** The query of a list. `SearchRequest` has the same names in its body. */
export const listQuery = {
  filter: z.string().optional(),
  startIndex: z.string().optional(),
  count: z.string().optional(),
  sortBy: z.string().optional(),
  sortOrder: z.string().optional(),
  attributes: z.string().optional(),
  excludedAttributes: z.string().optional(),
};

/** The query of a single resource. */
export const selectionQuery = {
  attributes: z.string().optional(),
  excludedAttributes: z.string().optional(),
};

export interface ListOrder {
  readonly filter: string | undefined;
  readonly startIndex: number;
  readonly count: number;
  readonly sortBy: string | undefined;
  readonly isDescending: boolean;
  readonly selection: Selection;
}

type Query = { readonly [Name in keyof typeof listQuery]?: Json | undefined };

/** @throws Refusal `scim_invalid_value` */
export function readListOrder(query: Query, settings: Settings): ListOrder {
  const sortOrder = (readText(query.sortOrder) ?? 'ascending').toLowerCase();
  if (sortOrder !== 'ascending' && sortOrder !== 'descending') fail('scim_invalid_value');
  return {
    filter: readText(query.filter),
    startIndex: Math.max(1, readInteger(query.startIndex) ?? 1),
    count: Math.min(Math.max(0, readInteger(query.count) ?? pageSize), settings.IAM_SCIM_MAX_PAGE_SIZE),
    sortBy: readText(query.sortBy),
    isDescending: sortOrder === 'descending',
    selection: readSelection(query),
  };
}

/** The order of a `.search` body, whose names may come in any case. @throws Refusal `scim_invalid_value` */
export function readSearch(body: JsonObject, settings: Settings): ListOrder {
  const sent = new Map(Object.entries(body).map(([name, value]) => [name.toLowerCase(), value]));
  const query = Object.fromEntries(
    Object.keys(listQuery).map((name) => [name, sent.get(name.toLowerCase())]),
  );
  return readListOrder(query, settings);
}

export function readSelection({
  attributes,
  excludedAttributes,
}: Pick<Query, 'attributes' | 'excludedAttributes'>): Selection {
  return { only: readNames(attributes), without: readNames(excludedAttributes) ?? [] };
}

function readNames(value: Json | undefined): string[] | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const names = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(names)) return fail('scim_invalid_value');
  return names
    .slice(0, 200)
    .map((name) => (typeof name === 'string' ? name.trim() : fail('scim_invalid_value')));
}

function readText(value: Json | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : fail('scim_invalid_value');
}

function readInteger(value: Json | undefined): number | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const number = typeof value === 'string' && /^[+-]?\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && Math.abs(number) < 1e12
    ? number
    : fail('scim_invalid_value');
}

/**
 * One page of a source's resources and how many there are in all.
 * @param columns what of a row is needed
 * @throws Refusal `scim_invalid_filter`, `scim_invalid_value` for a name to sort by that there is not, `scim_too_many`
 * for a list that takes longer than a statement may, `unavailable` while the source has too many others under way
 */
export async function findPage<Row>(
  db: Db,
  kind: ResourceKind,
  order: ListOrder,
  source: { sourceId: string; base: string; columns: string },
): Promise<{ total: number; rows: Row[] }> {
  const filter = order.filter === undefined ? undefined : parseFilter(order.filter);
  const list = new ResourceList(kind, filter, source);
  const pageStatement = list.page<Row>(order, source.columns);
  const search = async () => {
    const rows = order.count === 0 ? [] : await db.rows(pageStatement);
    // A page that is not full is the last one, and then they are counted.
    const isLast = rows.length > 0 ? rows.length < order.count : order.startIndex === 1 && order.count > 0;
    if (isLast) return { total: order.startIndex - 1 + rows.length, rows };
    return { total: (await db.row(list.total()))?.total ?? 0, rows };
  };
  try {
    return await inTurn('lists', source.sourceId, search);
  } catch (error) {
    const queryCanceled = '57014';
    if (sqlState(error) !== queryCanceled || filter === undefined) throw error;
    return fail('scim_too_many', {}, { cause: error });
  }
}

export function listResponse(total: number, startIndex: number, resources: JsonObject[]): JsonObject {
  return {
    schemas: [listUrn],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
