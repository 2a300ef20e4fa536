import { InstantInput, type Json, type JsonObject } from '@baton/kernel/wire';
import { fail } from '../../errors.ts';
import { type Attribute, attributeNamed } from '../protocol/attributes.ts';
import type { Comparison, Filter, Operator } from './filter-grammar.ts';

/**
 * Whether one element of a list meets the filter of a PATCH path. The rules are those of `filter.sql.ts`, applied to a
 * document in memory.
 * @throws Refusal `scim_invalid_path` for an unknown name, or an operator or a value that does not fit it
 */
export function matchesElement(attribute: Attribute, filter: Filter, element: JsonObject): boolean {
  if (filter.kind === 'and') return filter.of.every((part) => matchesElement(attribute, part, element));
  if (filter.kind === 'or') return filter.of.some((part) => matchesElement(attribute, part, element));
  if (filter.kind === 'not') return !matchesElement(attribute, filter.of, element);
  if (filter.kind === 'elements' || filter.path.sub !== undefined || filter.path.urn !== undefined)
    return fail('scim_invalid_path');
  const leaf = attributeNamed(attribute.subAttributes ?? [], filter.path.name) ?? fail('scim_invalid_path');
  const value = element[leaf.name];
  return filter.kind === 'present' ? value !== undefined : compares(leaf, value, filter);
}

/**
 * Checks every name and comparison of a filter, although no element is there to meet it.
 * @throws Refusal `scim_invalid_path`
 */
export function checkElementFilter(attribute: Attribute, filter: Filter): void {
  if (filter.kind === 'and' || filter.kind === 'or')
    for (const part of filter.of) checkElementFilter(attribute, part);
  else if (filter.kind === 'not') checkElementFilter(attribute, filter.of);
  else matchesElement(attribute, filter, {});
}

/** The values in a filter that is only `eq`s joined by `and`; undefined for another. */
export function equalities(attribute: Attribute, filter: Filter): Map<Attribute, Json> | undefined {
  const parts = filter.kind === 'and' ? filter.of : [filter];
  const found = new Map<Attribute, Json>();
  for (const part of parts) {
    if (part.kind !== 'compare' || part.operator !== 'eq' || part.value === null) return undefined;
    const leaf = attributeNamed(attribute.subAttributes ?? [], part.path.name);
    if (leaf === undefined) return undefined;
    found.set(leaf, part.value);
  }
  return found;
}

function compares(leaf: Attribute, value: Json | undefined, filter: Comparison): boolean {
  const { operator, value: wanted } = filter;
  if (wanted === null) {
    if (operator === 'eq') return value === undefined;
    return operator === 'ne' ? value !== undefined : fail('scim_invalid_path');
  }
  if (leaf.type === 'boolean') return comparesBoolean(value, operator, wanted);
  if (typeof wanted !== 'string') return fail('scim_invalid_path');
  if (leaf.type === 'dateTime' && !InstantInput.safeParse(wanted).success) return fail('scim_invalid_path');
  if (value === undefined) return operator === 'ne';
  const [left, right] = leaf.caseExact
    ? [String(value), wanted]
    : [String(value).toLowerCase(), wanted.toLowerCase()];
  return textComparisons[operator](left, right);
}

function comparesBoolean(
  value: Json | undefined,
  operator: Operator,
  wanted: string | number | boolean,
): boolean {
  // Some directories send "True".
  const word = String(wanted).toLowerCase();
  if ((operator !== 'eq' && operator !== 'ne') || (word !== 'true' && word !== 'false'))
    return fail('scim_invalid_path');
  return (value === (word === 'true')) === (operator === 'eq');
}

const textComparisons: Readonly<Record<Operator, (left: string, right: string) => boolean>> = {
  eq: (left, right) => left === right,
  ne: (left, right) => left !== right,
  co: (left, right) => left.includes(right),
  sw: (left, right) => left.startsWith(right),
  ew: (left, right) => left.endsWith(right),
  gt: (left, right) => byCodePoint(left, right) > 0,
  ge: (left, right) => byCodePoint(left, right) >= 0,
  lt: (left, right) => byCodePoint(left, right) < 0,
  le: (left, right) => byCodePoint(left, right) <= 0,
};

/** The order of PostgreSQL's collation "C"; JavaScript compares UTF-16 units. */
function byCodePoint(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
