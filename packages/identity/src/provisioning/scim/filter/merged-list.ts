import type { Db } from '@baton/kernel/database/db';
import type { Reply } from '@baton/kernel/http/service';
import type { JsonObject } from '@baton/values/wire';
import type { ResourceKind } from '../protocol/attributes.ts';
import { scimListReply } from '../protocol/scim-answer.ts';
import { filterOf, type ListOrder, pageBytesMax, runSearch, type Shape } from './list-page.ts';
import { findPlaces, findResources, type Part } from './merged-list.sql.ts';
import { ResourceList } from './resource-list.sql.ts';

/** One of the kinds in a merged list. `view` converts its rows into resources. */
export interface ListedKind<Row> {
  readonly kind: ResourceKind;
  readonly shape: Shape;
  view(rows: readonly Row[]): Promise<JsonObject[]>;
}

/**
 * One page over several kinds of resources of a source. An attribute that only one of the kinds has counts as absent
 * in the others. The page has the same limits as every list.
 * @throws Refusal as `listPage`
 */
export async function listMergedPage<First, Second>(
  db: Db,
  order: ListOrder,
  source: { sourceId: string; base: string },
  listed: readonly [ListedKind<First>, ListedKind<Second>],
): Promise<Reply<JsonObject>> {
  const filter = filterOf(order);
  const searched = listed.map(({ kind }) => kind);
  const partOf = ({ kind, shape }: Pick<Part, 'kind' | 'shape'>): Part => ({
    kind,
    shape,
    list: new ResourceList(kind, filter, source, searched),
  });
  const parts = [partOf(listed[0]), partOf(listed[1])] as const;
  const placesStatement = findPlaces(parts, order, pageBytesMax);
  return runSearch(source.sourceId, filter, async () => {
    const places = order.count === 0 ? [] : await db.rows(placesStatement);
    const rowsOf = <Row>(part: Part) => {
      const ids = places.filter(({ kind }) => kind === part.kind.name).map(({ id }) => id);
      return ids.length === 0 ? [] : db.rows(findResources<Row>(part, source.sourceId, ids));
    };
    const views = [
      ...(await listed[0].view(await rowsOf<First>(parts[0]))),
      ...(await listed[1].view(await rowsOf<Second>(parts[1]))),
    ];
    const byId = new Map(views.map((resource) => [resource['id'], resource]));
    // A resource that was deleted in the meantime is omitted.
    const resources = places.map(({ id }) => byId.get(id)).filter((one) => one !== undefined);
    const found = places[0]?.found ?? 0;
    const isLast = found > 0 && found < order.count;
    const total = isLast ? order.startIndex - 1 + found : await totalOf(db, parts);
    return scimListReply(total, order.startIndex, resources);
  });
}

async function totalOf(db: Db, parts: readonly Part[]): Promise<number> {
  let total = 0;
  for (const { list } of parts) total += (await db.row(list.total()))?.total ?? 0;
  return total;
}
