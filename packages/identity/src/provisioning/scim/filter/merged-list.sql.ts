import type { Statement } from '@baton/kernel/database/sql';
import { fail } from '../../errors.ts';
import type { ResourceKind } from '../protocol/attributes.ts';
import { directionOf, type PageOrder, type ResourceList, type Shape, tableOf } from './resource-list.sql.ts';
import { SqlValues } from './sql-scope.ts';

/** One kind of resource in a list over several kinds. */
export interface Part {
  readonly kind: ResourceKind;
  readonly list: ResourceList;
  readonly shape: Shape;
}

export interface PlaceRow {
  readonly kind: ResourceKind['name'];
  readonly id: string;
  /** The number of entries that the page would have if there were no byte limit. */
  readonly found: number;
}

/**
 * The entries of one page over several kinds: the first, and the following ones that together fit into `bytesMax`. Each
 * kind contributes up to one page, in its order; these are merged and truncated, and the result is measured.
 * @throws Refusal `scim_invalid_filter`; `scim_invalid_value` if no kind can be sorted by it
 */
export function findPlaces(parts: readonly Part[], order: PageOrder, bytesMax: number): Statement<PlaceRow> {
  const values = new SqlValues();
  const places = parts.map(({ list }) => list.places(values, order));
  if (order.sortBy !== undefined && !places.some(({ isSortable }) => isSortable)) fail('scim_invalid_value');
  const union = places.map(({ text }) => text).join('\n union all\n');
  const sort = order.sortBy === undefined ? '' : `o.sort_key ${directionOf(order)}, `;
  const ordered = `order by ${sort}o.created_at, o.id`;
  const weights = parts.map(
    ({ kind, shape }) =>
      `when '${kind.name}' then (select ${shape.bytes} from ${tableOf(kind)} r where r.id = o.id)`,
  );
  const text = `select o.kind, o.id, o.found from (
      select o.kind, o.id, o.found, o.place, sum(o.bytes) over (order by o.place) as bytes_so_far from (
        select o.kind, o.id, count(*) over () as found, row_number() over (${ordered}) as place,
          case o.kind ${weights.join(' ')} end as bytes
        from (
          select o.kind, o.id, o.created_at, o.sort_key from (${union}) o
          ${ordered} limit ${values.add(order.count)}::bigint offset ${values.add(order.startIndex - 1)}::bigint
        ) o
      ) o
    ) o where o.place = 1 or o.bytes_so_far <= ${values.add(bytesMax)}::bigint order by o.place`;
  return { text, values: values.values };
}

/** The resources of one kind with these ids. */
export function findResources<Row>(
  { kind, shape }: Part,
  sourceId: string,
  ids: readonly string[],
): Statement<Row> {
  return {
    text: `select ${shape.columns} from ${tableOf(kind)} r
      where r.provisioning_source_id = $1 and r.id = any ($2::uuid[])`,
    values: [sourceId, ids],
  };
}
