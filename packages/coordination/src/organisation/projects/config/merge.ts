import type { Json, JsonObject } from '@baton/values/wire';

/** Objects are merged in depth, everything else is replaced. Documents are nested 20 levels at most. */
export function merge(below: Json, over: Json): Json {
  return isObject(below) && isObject(over) ? mergeObjects(below, over) : over;
}

/** Also of names like `__proto__`: nothing is assigned to a name of the sender's. */
export function mergeObjects(below: JsonObject, over: JsonObject): JsonObject {
  const kept = Object.entries(below).map(([key, value]): [string, Json] => [
    key,
    Object.hasOwn(over, key) ? merge(value, over[key] as Json) : value,
  ]);
  const added = Object.entries(over).filter(([key]) => !Object.hasOwn(below, key));
  return Object.fromEntries([...kept, ...added]);
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
