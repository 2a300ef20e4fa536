import type { Located } from '../protocol/attribute-path.ts';
import { type Attribute, attributeNamed, type ResourceKind } from '../protocol/attributes.ts';
import { columns } from './expression.sql.ts';
import type { Filter, LeafFilter } from './filter-grammar.ts';
import type { Scope } from './sql-scope.ts';

/**
 * The part of a filter that an index finds. Conditions on a user's document are exact, but no index serves them:
 * over 100,000 users they took 500 ms. Therefore a search in `scim_users.search` (migration 0004) precedes them,
 * which took 1 ms. It finds every user who meets the filter, and perhaps others, because the index holds 60
 * characters of each string.
 * | filter                             | served by                                                        |
 * | ---------------------------------- | ---------------------------------------------------------------- |
 * | `eq` and a string                  | `scim_users.search`                                              |
 * | `sw` on an attribute without case  | `scim_users.search`, by prefix                                   |
 * | `id`, `userName`, `meta.created` … | the index of the column, if there is one (migrations 0002, 0004) |
 * | other operators, booleans, `not`   | nothing: every user of the source is read                        |
 * | `a and b`                          | any of its parts                                                 |
 * | `a or b`                           | its parts, only if all of them are served                        |
 */
export type Search =
  /** The string at a path such as `emails.value`, or a prefix of it. */
  | { readonly kind: 'text'; readonly path: string; readonly value: string; readonly isPrefix: boolean }
  | { readonly kind: 'and' | 'or'; readonly of: readonly Search[] };

/** Attributes of a user that are not in its document. */
const notInDocument: ReadonlySet<string> = new Set([...Object.keys(columns), 'meta', 'schemas', 'groups']);

/**
 * The search that a comparison allows.
 * @param leaf the compared attribute, or one of its parts
 */
export function searchFor(
  kind: ResourceKind,
  { attribute, extension }: Located,
  leaf: Attribute,
  filter: LeafFilter,
): Search | undefined {
  if (kind.name !== 'User' || filter.kind === 'present' || leaf.type === 'boolean') return undefined;
  if (extension === undefined && notInDocument.has(attribute.name)) return undefined;
  const { operator, value } = filter;
  // A prefix is searched only if case doesn't matter. The index contains lower-cased strings, and a lower-cased prefix
  // isn't always a prefix of the lower-cased string, as with `Σ`.
  const isPrefix = operator === 'sw' && !leaf.caseExact;
  if (typeof value !== 'string' || !(operator === 'eq' || isPrefix)) return undefined;
  const owner = extension === undefined ? [] : [extension.urn.slice(extension.urn.lastIndexOf(':') + 1)];
  const path = [...owner, attribute.name, ...(leaf === attribute ? [] : [leaf.name])].join('.');
  return { kind: 'text', path, value, isPrefix };
}

/** The search that a filter in brackets allows, whose names are those of an element's parts. */
export function searchForElement(kind: ResourceKind, list: Located, filter: Filter): Search | undefined {
  if (filter.kind === 'not' || filter.kind === 'elements') return undefined;
  if (filter.kind === 'and' || filter.kind === 'or') {
    const parts = filter.of.map((part) => searchForElement(kind, list, part));
    const served = parts.filter((part) => part !== undefined);
    const isServed = filter.kind === 'or' ? served.length === parts.length : served.length > 0;
    return isServed ? { kind: filter.kind, of: served } : undefined;
  }
  const leaf = attributeNamed(list.attribute.subAttributes ?? [], filter.path.name);
  return leaf && searchFor(kind, list, leaf, filter);
}

export function searchCondition(scope: Scope, search: Search): string {
  if (search.kind !== 'text')
    return `(${search.of.map((part) => searchCondition(scope, part)).join(` ${search.kind} `)})`;
  const { path, value, isPrefix } = search;
  return `r.search @@ scim_search_for(${scope.source}::uuid, '${path}', ${scope.values.add(value)}::text, ${isPrefix})`;
}
