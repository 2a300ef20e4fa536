import { InstantInput, type Json, type JsonObject } from '@baton/values/wire';
import { fail } from '../../errors.ts';
import { type Attribute, attributeNamed } from '../protocol/attributes.ts';
import type { Comparison, Filter, Operator } from './filter-grammar.ts';

/** Called for every comparison, so that the caller can limit their number. */
export type Spend = (steps: number, characters: number) => void;

/** Whether one element of a list meets a filter. */
export type ElementTest = (element: JsonObject, spend: Spend) => boolean;

/**
 * Reads the filter of a PATCH path once, for the many elements that it applies to. The rules are those of
 * `filter.sql.ts`, applied to a document in memory.
 * @throws Refusal `scim_invalid_path` for an unknown name, or an invalid operator or value
 */
export function elementTest(attribute: Attribute, filter: Filter): ElementTest {
  if (filter.kind === 'and' || filter.kind === 'or') {
    const parts = filter.of.map((part) => elementTest(attribute, part));
    return filter.kind === 'and'
      ? (element, spend) => parts.every((part) => part(element, spend))
      : (element, spend) => parts.some((part) => part(element, spend));
  }
  if (filter.kind === 'not') {
    const part = elementTest(attribute, filter.of);
    return (element, spend) => !part(element, spend);
  }
  if (filter.kind === 'elements' || filter.path.sub !== undefined || filter.path.urn !== undefined)
    return fail('scim_invalid_path');
  const leaf = attributeNamed(attribute.subAttributes ?? [], filter.path.name) ?? fail('scim_invalid_path');
  if (filter.kind === 'compare') return comparison(leaf, filter);
  return (element, spend) => {
    spend(1, 0);
    const value = element[leaf.name];
    return value !== undefined && value !== '';
  };
}

/** The values in a filter that consists only of `eq`s joined by `and`; undefined for any other filter. */
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

function comparison(leaf: Attribute, { operator, value: wanted }: Comparison): ElementTest {
  const holds = leafTest(leaf, operator, wanted);
  return (element, spend) => {
    const value = element[leaf.name];
    spend(1, typeof value === 'string' ? value.length : 0);
    return holds(value, element);
  };
}

type LeafTest = (value: Json | undefined, element: JsonObject) => boolean;

function leafTest(leaf: Attribute, operator: Operator, wanted: Comparison['value']): LeafTest {
  if (wanted === null) {
    if (operator === 'eq') return (value) => value === undefined;
    return operator === 'ne' ? (value) => value !== undefined : fail('scim_invalid_path');
  }
  if (leaf.type === 'boolean') return booleanTest(operator, wanted);
  if (typeof wanted !== 'string') return fail('scim_invalid_path');
  if (leaf.type === 'dateTime' && !InstantInput.safeParse(wanted).success) return fail('scim_invalid_path');
  const compares = textComparisons[operator];
  const right = leaf.caseExact ? wanted : wanted.toLowerCase();
  return (value, element) => {
    if (value === undefined) return operator === 'ne';
    return compares(leaf.caseExact ? String(value) : lowerCased(element, leaf.name, String(value)), right);
  };
}

function booleanTest(operator: Operator, wanted: string | number | boolean): LeafTest {
  // Some directories send "True".
  const word = String(wanted).toLowerCase();
  if ((operator !== 'eq' && operator !== 'ne') || (word !== 'true' && word !== 'false'))
    return fail('scim_invalid_path');
  return (value) => (value === (word === 'true')) === (operator === 'eq');
}

/**
 * The strings of elements in lower case, by the names of their parts. They can be cached, because elements are
 * immutable: a change creates a new element.
 */
const lowerTexts = new WeakMap<JsonObject, Record<string, string>>();

function lowerCased(element: JsonObject, name: string, text: string): string {
  let known = lowerTexts.get(element);
  if (known === undefined) {
    known = {};
    lowerTexts.set(element, known);
  }
  known[name] ??= text.toLowerCase();
  return known[name];
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

/** Compares in the order of PostgreSQL's collation "C", because JavaScript compares UTF-16 units. */
function byCodePoint(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
