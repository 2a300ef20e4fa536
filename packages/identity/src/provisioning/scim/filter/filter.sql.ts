import { fail } from '../../errors.ts';
import { type Located, locate } from '../protocol/attribute-path.ts';
import { comparisonCondition, nullCondition } from './comparison.sql.ts';
import { elementCondition, elementsOf, someElement } from './elements.sql.ts';
import { comparedAttribute, expressionOf, presenceCondition } from './expression.sql.ts';
import type { Filter, LeafFilter } from './filter-grammar.ts';
import { type Search, searchCondition, searchFor, searchForElement } from './search.sql.ts';
import type { Scope } from './sql-scope.ts';

/**
 * Compiles a filter to a condition on the row `r` of scim_users or scim_groups:
 *
 * | filter                     | condition                                                               |
 * | -------------------------- | ----------------------------------------------------------------------- |
 * | `userName eq "Ada"`        | `((lower(r.user_name) collate "C") = (lower($2::text) collate "C"))`    |
 * | `title pr`                 | `((r.document ->> 'title') is not null)`                                |
 * | `title eq "x"`             | `(r.search @@ … and ((lower(r.document ->> 'title') …) = …))`           |
 * | `emails.type eq "work"`    | `(exists (select 1 from jsonb_array_elements(…) e where …))`            |
 * | `emails[type eq "work"]`   | the same; several conditions in the brackets apply to one element      |
 * | `not (…)`                  | `(not coalesce(…, false))`                                              |
 *
 * Every value of the client is a parameter; the text of a condition contains only names from the schemas. Where a
 * value is stored: `expression.sql.ts` and `elements.sql.ts`. How it is compared: `comparison.sql.ts`. What an index
 * finds: `search.sql.ts`.
 * @throws Refusal `scim_invalid_filter` for an unknown attribute, or an invalid operator or value
 */
export function filterCondition(scope: Scope, filter: Filter): string {
  return compile(scope, filter, true);
}

/**
 * @param mayNarrow false below `not`, where a search would exclude users who meet the condition
 */
function compile(scope: Scope, filter: Filter, mayNarrow: boolean): string {
  if (filter.kind === 'and' || filter.kind === 'or')
    return `(${filter.of.map((part) => compile(scope, part, mayNarrow)).join(` ${filter.kind} `)})`;
  if (filter.kind === 'not') return `(not coalesce(${compile(scope, filter.of, false)}, false))`;
  const located = locate(scope.kind, filter.path);
  if (located === undefined) return absentCondition(scope, filter);
  if (located.attribute.returned === 'never') fail('scim_invalid_filter');
  const { exact, search } = compileLeaf(scope, located, filter);
  return search === undefined || !mayNarrow ? exact : `(${searchCondition(scope, search)} and ${exact})`;
}

/** The condition for an attribute that exists only on another searched kind, such as `userName` on a group. */
function absentCondition(
  { searched }: Scope,
  filter: LeafFilter | Extract<Filter, { kind: 'elements' }>,
): string {
  if (searched.every((kind) => locate(kind, filter.path) === undefined)) fail('scim_invalid_filter');
  if (filter.kind !== 'compare') return '(false)';
  const isMet = filter.operator === (filter.value === null ? 'eq' : 'ne');
  return isMet ? '(true)' : '(false)';
}

/** `exact` is true for exactly the resources that meet the filter; `search` finds at least these. */
interface Compiled {
  readonly exact: string;
  readonly search?: Search | undefined;
}

function compileLeaf(
  scope: Scope,
  located: Located,
  filter: LeafFilter | Extract<Filter, { kind: 'elements' }>,
): Compiled {
  if (filter.kind === 'elements') return compileBrackets(scope, located, filter.of);
  return located.attribute.multiValued
    ? compileList(scope, located, filter)
    : compileSingle(scope, located, filter);
}

/** `title eq "x"`, `name.givenName co "x"`, `name pr`. */
function compileSingle(scope: Scope, located: Located, filter: LeafFilter): Compiled {
  const { attribute, sub } = located;
  if (filter.kind === 'present' && attribute.type === 'complex' && sub === undefined)
    return { exact: presenceCondition(scope.kind, located) };
  const leaf = comparedAttribute(located) ?? fail('scim_invalid_filter');
  const expression = expressionOf(scope, { ...located, sub: leaf === attribute ? undefined : leaf });
  const exact = comparisonCondition(leaf, expression, filter, scope.values);
  return { exact, search: searchFor(scope.kind, located, leaf, filter) };
}

/**
 * `emails eq "x"` and `emails.type eq "work"` apply to any element; `emails pr` and `emails eq null` to the list.
 */
function compileList(scope: Scope, located: Located, filter: LeafFilter): Compiled {
  const { attribute, sub } = located;
  const elements = elementsOf(scope, attribute);
  const { isPresent } = elements;
  if (sub === undefined && filter.kind === 'present') return { exact: `(${isPresent})` };
  const leaf = comparedAttribute(located) ?? fail('scim_invalid_filter');
  if (sub === undefined && filter.kind === 'compare' && filter.value === null)
    return { exact: nullCondition(filter.operator, `not ${isPresent}`, isPresent) };
  const part = elements.part(leaf === attribute ? undefined : leaf);
  const exact = someElement(elements, comparisonCondition(leaf, part, filter, scope.values));
  return { exact, search: searchFor(scope.kind, located, leaf, filter) };
}

/** `emails[type eq "work" and primary eq true]` applies to one element that meets the whole filter. */
function compileBrackets(scope: Scope, located: Located, filter: Filter): Compiled {
  const { attribute } = located;
  if (!attribute.multiValued || attribute.subAttributes === undefined) fail('scim_invalid_filter');
  const elements = elementsOf(scope, attribute);
  const exact = someElement(elements, elementCondition(attribute, elements, filter, scope.values));
  return { exact, search: searchForElement(scope.kind, located, filter) };
}
