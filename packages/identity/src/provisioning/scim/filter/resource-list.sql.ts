import type { Statement } from '@baton/kernel/database/sql';
import { fail } from '../../errors.ts';
import { parseAttributePath } from '../protocol/attribute-path.ts';
import type { ResourceKind } from '../protocol/attributes.ts';
import { filterCondition } from './filter.sql.ts';
import type { Filter } from './filter-grammar.ts';
import { sortExpression } from './sort.sql.ts';
import { type Scope, SqlValues } from './sql-scope.ts';

/** The page and the order of a list. Resources with equal `sortBy` values are ordered by creation. */
export interface PageOrder {
  /** From 1. */
  readonly startIndex: number;
  readonly count: number;
  readonly sortBy: string | undefined;
  readonly isDescending: boolean;
}

export interface Shape {
  readonly columns: string;
  readonly bytes: string;
}

interface Source {
  readonly sourceId: string;
  readonly base: string;
}

/**
 * The resources of a source that meet a filter. Its statements aren't named, because the number of different SQL texts
 * is unlimited.
 */
export class ResourceList {
  readonly #kind: ResourceKind;
  readonly #filter: Filter | undefined;
  readonly #source: Source;
  readonly #searched: readonly ResourceKind[];

  /** @param searched every kind that the same request searches */
  constructor(
    kind: ResourceKind,
    filter: Filter | undefined,
    source: Source,
    searched: readonly ResourceKind[] = [kind],
  ) {
    this.#kind = kind;
    this.#filter = filter;
    this.#source = source;
    this.#searched = searched;
  }

  /**
   * The total. All users, and the active ones, have a counter in their source, because counting 100,000 rows for every
   * list would take too long.
   */
  total(): Statement<{ total: number }> {
    const counter = this.#kind.name === 'User' ? counterFor(this.#filter) : undefined;
    if (counter !== undefined)
      return {
        text: `select ${counter} as total from provisioning_sources where id = $1`,
        values: [this.#source.sourceId],
      };
    const values = new SqlValues();
    const { from } = this.#begin(values);
    return { text: `select count(*) as total ${from}`, values: values.values };
  }

  /**
   * The first resource of a page, and the following ones that fit into `bytesMax` together. `found` is the size of the
   * page without that limit.
   * @param shape the columns of a resource `r`, and the expression for its size in the response, in bytes
   * @throws Refusal `scim_invalid_filter`; `scim_invalid_value` for an unknown attribute to sort by
   */
  page<Row>(
    order: PageOrder,
    { columns, bytes }: Shape,
    bytesMax: number,
  ): Statement<Row & { found: number }> {
    const values = new SqlValues();
    const rows = this.#rows(values, order, columns);
    // Measured after the page has been cut: measuring everything that is sorted would read every user.
    const text = `select ${columns}, r.found from (
      select r.*, count(*) over () as found, row_number() over () as place,
        sum(${bytes}) over (rows unbounded preceding) as bytes_so_far
      from (${rows}) r
    ) r where r.place = 1 or r.bytes_so_far <= ${values.add(bytesMax)}::bigint order by r.place`;
    return { text, values: values.values };
  }

  /**
   * The input of a list over several kinds: kind, id and sort key of up to one page of resources, in its order.
   * `isSortable` is false for a kind that has nothing to sort by.
   */
  places(values: SqlValues, order: PageOrder): { text: string; isSortable: boolean } {
    const { scope, from } = this.#begin(values);
    const path = order.sortBy === undefined ? undefined : parseAttributePath(order.sortBy);
    const key = path === undefined ? undefined : sortExpression(scope, path);
    const first = key === undefined ? '' : `${key} ${directionOf(order)}, `;
    const text = `(select '${this.#kind.name}' as kind, r.id, r.created_at, ${key ?? 'null'} as sort_key ${from}
      order by ${first}r.created_at, r.id limit ${values.add(order.startIndex - 1 + order.count)}::bigint)`;
    return { text, isSortable: key !== undefined };
  }

  #rows(values: SqlValues, order: PageOrder, columns: string): string {
    const { scope, from } = this.#begin(values);
    const sort = order.sortBy === undefined ? undefined : sortOf(scope, order.sortBy);
    const ordered = `order by ${sort === undefined ? '' : `${sort} ${directionOf(order)}, `}r.created_at, r.id`;
    const [count, offset] = [values.add(order.count), values.add(order.startIndex - 1)];
    const cut = `${ordered} limit ${count} offset ${offset}`;
    if (order.startIndex === 1) return `select ${columns} ${from} ${cut}`;
    // Rows before the page are skipped in the index, without reading whole users.
    return `select ${columns} from ${tableOf(this.#kind)} r where r.id = any (array(select r.id ${from} ${cut})) ${ordered}`;
  }

  #begin(values: SqlValues): { scope: Scope; from: string } {
    const { sourceId, base } = this.#source;
    const scope = {
      kind: this.#kind,
      searched: this.#searched,
      values,
      base,
      source: values.add(sourceId),
    };
    const condition = this.#filter === undefined ? '' : ` and ${filterCondition(scope, this.#filter)}`;
    return {
      scope,
      from: `from ${tableOf(this.#kind)} r where r.provisioning_source_id = ${scope.source}${condition}`,
    };
  }
}

/** The counter that stores the total of a filter over users; undefined if they must be counted. */
function counterFor(filter: Filter | undefined): string | undefined {
  if (filter === undefined) return 'users_count';
  if (filter.kind !== 'compare' || filter.path.sub !== undefined) return undefined;
  if (filter.path.urn !== undefined || filter.path.name.toLowerCase() !== 'active') return undefined;
  const word = String(filter.value).toLowerCase();
  if ((filter.operator !== 'eq' && filter.operator !== 'ne') || (word !== 'true' && word !== 'false'))
    return undefined;
  const isActive = (word === 'true') === (filter.operator === 'eq');
  return isActive ? 'active_users_count' : 'users_count - active_users_count';
}

export function directionOf({ isDescending }: PageOrder): 'asc' | 'desc' {
  return isDescending ? 'desc' : 'asc';
}

export function tableOf({ name }: ResourceKind): string {
  return name === 'User' ? 'scim_users' : 'scim_groups';
}

function sortOf(scope: Scope, sortBy: string): string {
  const path = parseAttributePath(sortBy);
  return (path && sortExpression(scope, path)) ?? fail('scim_invalid_value');
}
