import { InstantInput, type Json, type JsonObject } from '@baton/kernel/wire';
import { fail } from '../../errors.ts';
import type { Filter } from './filter-grammar.ts';
import { type Attribute, named } from '../protocol/schemas.ts';

/**
 * Whether one element of a list meets the filter of a PATCH path: the same rules as in SQL, over a document in hand.
 * @throws Refusal `scim_invalid_path` for names and comparisons that the schema has not
 */
export function matchesElement(attribute: Attribute, filter: Filter, element: JsonObject): boolean {
  if (filter.kind === 'and') return filter.of.every((part) => matchesElement(attribute, part, element));
  if (filter.kind === 'or') return filter.of.some((part) => matchesElement(attribute, part, element));
  if (filter.kind === 'not') return !matchesElement(attribute, filter.of, element);
  if (filter.kind === 'elements' || filter.path.sub !== undefined || filter.path.urn !== undefined)
    return fail('scim_invalid_path');
  const leaf = named(attribute.subAttributes ?? [], filter.path.name) ?? fail('scim_invalid_path');
  const value = element[leaf.name];
  if (filter.kind === 'present') return value !== undefined;
  return compares(leaf, value, filter);
}

/** Checks every name and comparison of a filter, also where no element is there to meet it. */
export function checkElementFilter(attribute: Attribute, filter: Filter): void {
  if (filter.kind === 'and' || filter.kind === 'or')
    for (const part of filter.of) checkElementFilter(attribute, part);
  else if (filter.kind === 'not') checkElementFilter(attribute, filter.of);
  else matchesElement(attribute, filter, {});
}

/** The values of a filter that is nothing but `eq`s joined by `and`; undefined for another. */
export function equalities(attribute: Attribute, filter: Filter): Map<Attribute, Json> | undefined {
  const parts = filter.kind === 'and' ? filter.of : [filter];
  const found = new Map<Attribute, Json>();
  for (const part of parts) {
    if (part.kind !== 'compare' || part.operator !== 'eq' || part.value === null) return undefined;
    const leaf = named(attribute.subAttributes ?? [], part.path.name);
    if (leaf === undefined) return undefined;
    found.set(leaf, part.value);
  }
  return found;
}

function compares(
  leaf: Attribute,
  value: Json | undefined,
  filter: Extract<Filter, { kind: 'compare' }>,
): boolean {
  const { operator, value: wanted } = filter;
  if (wanted === null) {
    if (operator === 'eq') return value === undefined;
    return operator === 'ne' ? value !== undefined : fail('scim_invalid_path');
  }
  if (leaf.type === 'boolean') {
    const word = String(wanted).toLowerCase();
    if ((operator !== 'eq' && operator !== 'ne') || (word !== 'true' && word !== 'false'))
      return fail('scim_invalid_path');
    return (value === (word === 'true')) === (operator === 'eq');
  }
  if (typeof wanted !== 'string') return fail('scim_invalid_path');
  if (leaf.type === 'dateTime' && !InstantInput.safeParse(wanted).success) return fail('scim_invalid_path');
  const right = leaf.caseExact ? wanted : wanted.toLowerCase();
  if (value === undefined) return operator === 'ne';
  const left = leaf.caseExact ? String(value) : String(value).toLowerCase();
  const order = Buffer.compare(Buffer.from(left), Buffer.from(right));
  switch (operator) {
    case 'eq':
      return order === 0;
    case 'ne':
      return order !== 0;
    case 'co':
      return left.includes(right);
    case 'sw':
      return left.startsWith(right);
    case 'ew':
      return left.endsWith(right);
    case 'gt':
      return order > 0;
    case 'ge':
      return order >= 0;
    case 'lt':
      return order < 0;
    case 'le':
      return order <= 0;
  }
}
