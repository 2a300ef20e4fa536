import { isObject } from '@baton/values/json-schema/keywords';
import type { Json, JsonObject } from '@baton/values/wire';

/** The maximum length of a chain of references. */
const referencesMax = 20;

/**
 * Resolves references to places in the same document, written as JSON pointers, and returns the schema that applies.
 */
export function resolveSchema(root: JsonObject, schema: Json | undefined): JsonObject {
  let part = schema;
  for (let followed = 0; followed < referencesMax; followed += 1) {
    if (!isObject(part)) return {};
    const reference = part['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return part;
    const { $ref: _, ...beside } = part;
    const target = pointedAt(root, reference);
    part = isObject(target) ? { ...target, ...beside } : beside;
  }
  return {};
}

function pointedAt(root: JsonObject, reference: string): Json | undefined {
  let at: Json | undefined = root;
  for (const part of reference.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    at =
      (isObject(at) || Array.isArray(at)) && Object.hasOwn(at, name) ? (at as JsonObject)[name] : undefined;
  }
  return at;
}

const defaultDepthMax = 20;

/**
 * The effective settings: the values that were set, merged over the schema's defaults for properties, at any depth. A
 * list that was set replaces the default.
 */
export function effectiveValues(schema: JsonObject, values: JsonObject): JsonObject {
  return (withDefaults(schema, schema, values, 0) ?? {}) as JsonObject;
}

function withDefaults(
  root: JsonObject,
  schema: Json | undefined,
  value: Json | undefined,
  depth: number,
): Json | undefined {
  const part = resolveSchema(root, schema);
  const set = value === undefined ? part['default'] : value;
  const properties = isObject(part['properties']) ? part['properties'] : {};
  if (depth >= defaultDepthMax || (set !== undefined && !isObject(set))) return set;
  const own = isObject(set) ? set : {};
  const names = new Set([...Object.keys(properties), ...Object.keys(own)]);
  const counted = [...names].flatMap((name): [string, Json][] => {
    const given = Object.hasOwn(own, name) ? own[name] : undefined;
    const inside = Object.hasOwn(properties, name)
      ? withDefaults(root, properties[name], given, depth + 1)
      : given;
    return inside === undefined ? [] : [[name, inside]];
  });
  return set === undefined && counted.length === 0 ? undefined : Object.fromEntries(counted);
}

/** A string in the settings that refers to an object of the tenant: `"x-ref": "role"` in its schema. */
export interface NamedObject {
  readonly kind: string;
  readonly value: string;
  /** A JSON pointer into the values. */
  readonly path: string;
}

/** The strings in the schema's properties and lists that refer to objects. */
export function namedObjects(schema: JsonObject, values: JsonObject): NamedObject[] {
  const found: NamedObject[] = [];
  collect(schema, schema, values, '', found);
  return found;
}

function collect(
  root: JsonObject,
  schema: Json | undefined,
  value: Json,
  path: string,
  found: NamedObject[],
): void {
  const part = resolveSchema(root, schema);
  const kind = part['x-ref'];
  if (typeof kind === 'string' && typeof value === 'string') found.push({ kind, value, path });
  if (Array.isArray(value))
    for (const [n, item] of value.entries()) collect(root, part['items'], item, `${path}/${n}`, found);
  if (!isObject(value)) return;
  const properties = isObject(part['properties']) ? part['properties'] : {};
  for (const [name, inside] of Object.entries(value)) {
    const schemaOf = Object.hasOwn(properties, name) ? properties[name] : part['additionalProperties'];
    collect(root, schemaOf, inside, `${path}/${pointerPart(name)}`, found);
  }
}

/**
 * The differences between two documents as JSON pointers: objects are compared by member, all other values as a whole.
 */
export function differingPaths(before: Json | undefined, after: Json | undefined, path = ''): string[] {
  if (!isObject(before) || !isObject(after))
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) => {
    const own = (of: JsonObject) => (Object.hasOwn(of, name) ? of[name] : undefined);
    return differingPaths(own(before), own(after), `${path}/${pointerPart(name)}`);
  });
}

function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
