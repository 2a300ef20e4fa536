import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '@baton/values/wire';
import { type Attribute, attributeNamed } from './attributes.ts';

/**
 * A list in which each pair of type and value occurs once (RFC 7643, section 2.4): a later element updates an earlier
 * one with the same type and value. Elements without a value are duplicates only if all their parts are equal.
 */
export function mergeDuplicates(attribute: Attribute, elements: JsonObject[]): JsonObject[] {
  const places = new Map<string, number>();
  const merged: JsonObject[] = [];
  for (const element of elements) {
    const key = keyOf(attribute, element);
    const place = places.get(key);
    if (place === undefined) {
      places.set(key, merged.length);
      merged.push(element);
      continue;
    }
    const before = merged[place] as JsonObject;
    const updated = { ...before, ...element };
    // An unchanged element remains the same object, so that PATCH can detect changes.
    if (!isDeepStrictEqual(before, updated)) merged[place] = updated;
  }
  return merged.length === elements.length ? elements : merged;
}

/** The keys of elements. They can be cached, because an element is never modified: a change creates a new object. */
const keys = new WeakMap<JsonObject, string>();

function keyOf(attribute: Attribute, element: JsonObject): string {
  const known = keys.get(element);
  if (known !== undefined) return known;
  const parts = attribute.subAttributes ?? [];
  const { value, type } = element;
  const key =
    value === undefined
      ? JSON.stringify(parts.map(({ name }) => element[name] ?? null))
      : JSON.stringify([folded(parts, 'type', type), folded(parts, 'value', value)]);
  keys.set(element, key);
  return key;
}

function folded(parts: readonly Attribute[], name: string, value: Json | undefined): Json {
  if (typeof value !== 'string') return value ?? null;
  return attributeNamed(parts, name)?.caseExact === true ? value : value.toLowerCase();
}
