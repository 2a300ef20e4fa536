import type { Json, JsonObject } from '@baton/values/wire';

/** Merges objects deeply and replaces other values. Documents are nested at most 20 levels deep. */
export function mergeValues(below: Json, over: Json): Json {
  return isObject(below) && isObject(over) ? mergeObjects(below, over) : over;
}

/** Safe for names like `__proto__`: it never assigns to a key from the request. */
export function mergeObjects(below: JsonObject, over: JsonObject): JsonObject {
  const kept = Object.entries(below).map(([key, value]): [string, Json] => [
    key,
    Object.hasOwn(over, key) ? mergeValues(value, over[key] as Json) : value,
  ]);
  const added = Object.entries(over).filter(([key]) => !Object.hasOwn(below, key));
  return Object.fromEntries([...kept, ...added]);
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
