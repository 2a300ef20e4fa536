import type { Statement } from '@baton/kernel/sql';
import { fail } from '../../errors.ts';
import { parseAttributePath } from '../protocol/attribute-path.ts';
import type { ResourceKind } from '../protocol/attributes.ts';
import { filterCondition } from './filter.sql.ts';
import type { Filter } from './filter-grammar.ts';
import { sortExpression } from './sort.sql.ts';
import { type Scope, SqlValues } from './sql-scope.ts';

/** Which page of a list, in which order. Resources that are equal in `sortBy` come in the order of their creation. */
export interface PageOrder {
  /** From 1. */
  readonly startIndex: number;
  readonly count: number;
  readonly sortBy: string | undefined;
  readonly isDescending: boolean;
}

interface Source {
  readonly sourceId: string;
  readonly base: string;
}

/** The resources of a source that meet a filter. Its statements are unnamed, because their texts vary without end. */
export class ResourceList {
  readonly #kind: ResourceKind;
  readonly #filter: Filter | undefined;
  readonly #source: Source;

  constructor(kind: ResourceKind, filter: Filter | undefined, source: Source) {
    this.#kind = kind;
    this.#filter = filter;
    this.#source = source;
  }

  /**
   * How many there are. All users, and the active ones, have a counter in their source: to count 100,000 rows for every
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

  /** @throws Refusal `scim_invalid_filter`; `scim_invalid_value` for an unknown attribute to sort by */
  page<Row>(order: PageOrder, columns: string): Statement<Row> {
    const values = new SqlValues();
    const { scope, from } = this.#begin(values);
    const sort = order.sortBy === undefined ? undefined : sortOf(scope, order.sortBy);
    const direction = order.isDescending ? 'desc' : 'asc';
    const ordered = `order by ${sort === undefined ? '' : `${sort} ${direction}, `}r.created_at, r.id`;
    const [count, offset] = [values.add(order.count), values.add(order.startIndex - 1)];
    const cut = `${ordered} limit ${count} offset ${offset}`;
    if (order.startIndex === 1) return { text: `select ${columns} ${from} ${cut}`, values: values.values };
    // Rows before the page are skipped in the index, without reading whole users.
    const text = `select ${columns} from ${tableOf(this.#kind)} r where r.id = any (array(select r.id ${from} ${cut})) ${ordered}`;
    return { text, values: values.values };
  }

  #begin(values: SqlValues): { scope: Scope; from: string } {
    const { sourceId, base } = this.#source;
    const scope = { kind: this.#kind, values, base, source: values.add(sourceId) };
    const condition = this.#filter === undefined ? '' : ` and ${filterCondition(scope, this.#filter)}`;
    return {
      scope,
      from: `from ${tableOf(this.#kind)} r where r.provisioning_source_id = ${scope.source}${condition}`,
    };
  }
}

/** The counter that has the total of a filter over users; undefined where they must be counted. */
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

function tableOf({ name }: ResourceKind): string {
  return name === 'User' ? 'scim_users' : 'scim_groups';
}

function sortOf(scope: Scope, sortBy: string): string {
  const path = parseAttributePath(sortBy);
  return (path && sortExpression(scope, path)) ?? fail('scim_invalid_value');
}
