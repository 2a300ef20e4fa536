import type { Json, JsonObject } from '@baton/values/wire';

/** The types of the profile cp/1: those of CEL for JSON, instants and durations. */

export type Scalar = 'dyn' | 'null' | 'bool' | 'int' | 'double' | 'string' | 'timestamp' | 'duration';

export type Type = (
  | { readonly kind: Scalar }
  | { readonly kind: 'list' | 'map' | 'optional'; readonly of: Type }
  /** Members that a closed object doesn't declare are a problem at publication; an open object may have others. */
  | { readonly kind: 'object'; readonly fields: ReadonlyMap<string, Type>; readonly isOpen?: boolean }
) & {
  /** Whether null is an allowed value of this type. */
  readonly nullable?: boolean;
};

export const dyn: Type = { kind: 'dyn' };
export const bool: Type = { kind: 'bool' };
export const int: Type = { kind: 'int' };
export const double: Type = { kind: 'double' };
export const string: Type = { kind: 'string' };
export const timestamp: Type = { kind: 'timestamp' };
export const duration: Type = { kind: 'duration' };
export const nil: Type = { kind: 'null' };
export const listOf = (of: Type): Type => ({ kind: 'list', of });
export const mapOf = (of: Type): Type => ({ kind: 'map', of });
export const optionalOf = (of: Type): Type => ({ kind: 'optional', of });
export const objectOf = (fields: Readonly<Record<string, Type>>): Type => ({
  kind: 'object',
  fields: new Map(Object.entries(fields)),
});

/** The type in readable form: `list(int)`. */
export function nameOf(type: Type): string {
  return 'of' in type ? `${type.kind}(${shallowNameOf(type.of)})` : type.kind;
}

/** Two levels are enough for messages. A whole type could be as deep as a schema. */
function shallowNameOf(type: Type): string {
  return 'of' in type ? `${type.kind}(${type.of.kind})` : type.kind;
}

const isNumber = ({ kind }: Type) => kind === 'int' || kind === 'double';

/** The common type of two types; `dyn` if they differ. */
export function eitherOf(a: Type, b: Type): Type {
  if (a === b) return a;
  if (a.kind !== b.kind) return dyn;
  if (a.kind === 'object') return dyn;
  return 'of' in a && 'of' in b ? { kind: a.kind, of: eitherOf(a.of, b.of) } : { kind: a.kind as Scalar };
}

/** Whether two values can ever be equal. */
export function areComparable(a: Type, b: Type): boolean {
  const kinds = [a.kind, b.kind];
  if (kinds.includes('dyn') || kinds.includes('null')) return true;
  if (isNumber(a) && isNumber(b)) return true;
  if ([a, b].every(({ kind }) => kind === 'map' || kind === 'object')) return true;
  if (a.kind !== b.kind) return false;
  return 'of' in a && 'of' in b ? areComparable(a.of, b.of) : true;
}

/**
 * Whether the result of an expression may be written where a value of a type is required. Instants and durations are
 * written as strings, an optional as its value; the members of a map are only known at run time.
 */
export function isWritable(from: Type, to: Type): boolean {
  return fits(from, to, writable);
}

/**
 * Like `isWritable`, but for values described by a schema. Such a value may have more fields than its location
 * declares, because a schema allows them by default, and its numbers may be integers.
 */
export function mayFit(from: Type, to: Type): boolean {
  return fits(from, to, fitting);
}

/**
 * Cached results for types that contain others. Schemas that refer to the same parts in many ways have few types, but
 * very many paths through these types.
 */
type Found = WeakMap<Type, WeakMap<Type, boolean>>;
const writable: Found = new WeakMap();
const fitting: Found = new WeakMap();

function fits(from: Type, to: Type, found: Found): boolean {
  if (!isCompound(from) || !isCompound(to)) return compared(from, to, found);
  const known = found.get(from) ?? new WeakMap<Type, boolean>();
  found.set(from, known);
  const before = known.get(to);
  if (before !== undefined) return before;
  const now = compared(from, to, found);
  known.set(to, now);
  return now;
}

const isCompound = (type: Type) => 'of' in type || 'fields' in type;

function compared(from: Type, to: Type, found: Found): boolean {
  if (from.kind === 'optional') return fits(from.of, to, found);
  if (from.kind === 'dyn' || to.kind === 'dyn') return true;
  if (from.kind === 'null') return to.kind === 'null' || to.nullable === true;
  if (from.kind === 'int' && to.kind === 'double') return true;
  if (from.kind === 'double' && to.kind === 'int') return found === fitting;
  if (to.kind === 'string') return ['string', 'timestamp', 'duration'].includes(from.kind);
  if (from.kind === 'list' && to.kind === 'list') return fits(from.of, to.of, found);
  if (from.kind === 'map' && to.kind === 'map') return fits(from.of, to.of, found);
  if (from.kind === 'map' && to.kind === 'object') return true;
  if (from.kind === 'object' && to.kind === 'map')
    return [...from.fields.values()].every((field) => fits(field, to.of, found));
  if (from.kind === 'object' && to.kind === 'object')
    return [...from.fields].every(([name, field]) => {
      const target = to.fields.get(name);
      return target === undefined ? found === fitting : fits(field, target, found);
    });
  return from.kind === to.kind;
}

/**
 * The type that a JSON Schema describes: an object with `properties` is closed, one without is open
 * (docs/reference/processes.md#expressions). A schema with several types is `dyn`.
 * @param root the whole schema, for the references inside it
 * @param as whether to treat its objects as open and its numbers as either kind, because JSON has only one
 */
export function typeOfSchema(root: JsonObject, as: SchemaReading = {}): Type {
  return new SchemaReader(root, as).typeOf(root);
}

export interface SchemaReading {
  readonly isOpen?: boolean;
  readonly hasAnyNumbers?: boolean;
}

class SchemaReader {
  readonly #root: JsonObject;
  readonly #as: SchemaReading;
  /** Each schema gets one type, however many references to it there are; inside itself, a recursive schema is `dyn`. */
  readonly #known = new Map<object, Type>();

  constructor(root: JsonObject, as: SchemaReading) {
    this.#root = root;
    this.#as = as;
  }

  typeOf(schema: Json | undefined): Type {
    if (!isObject(schema)) return dyn;
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    this.#known.set(schema, dyn);
    const type = this.#read(schema);
    this.#known.set(schema, type);
    return type;
  }

  #read(schema: JsonObject): Type {
    const { $ref: reference } = schema;
    // Anchors are not resolved.
    if (typeof reference === 'string')
      return /^#(\/|$)/.test(reference) ? this.typeOf(targetOf(this.#root, reference)) : dyn;
    if (['anyOf', 'oneOf', 'allOf', '$dynamicRef'].some((word) => word in schema)) return dyn;
    const names = typesNamedBy(schema);
    const others = names.filter((name) => name !== 'null');
    if (others.length === 0) return names.length === 0 ? dyn : nil;
    const type = others.length === 1 ? this.#named(others[0] as string, schema) : this.#several(others);
    return names.length > others.length ? { ...type, nullable: true } : type;
  }

  #named(name: string, schema: JsonObject): Type {
    if (name === 'array') return listOf('prefixItems' in schema ? dyn : this.typeOf(schema['items']));
    if (name === 'object') return this.#object(schema);
    const isNumber = name === 'integer' || name === 'number';
    return isNumber && this.#as.hasAnyNumbers === true ? dyn : { kind: scalars[name] ?? 'dyn' };
  }

  #several(names: readonly string[]): Type {
    const areNumbers = names.every((name) => name === 'integer' || name === 'number');
    return areNumbers && this.#as.hasAnyNumbers !== true ? double : dyn;
  }

  #object({ properties, additionalProperties: others }: JsonObject): Type {
    if (!isObject(properties)) return mapOf(this.typeOf(others));
    const fields = Object.entries(properties).map(([name, field]): [string, Type] => [
      name,
      this.typeOf(field),
    ]);
    const { isOpen = false } = this.#as;
    return { kind: 'object', fields: new Map(fields), ...(isOpen && { isOpen }) };
  }
}

const scalars: Readonly<Record<string, Scalar>> = {
  string: 'string',
  integer: 'int',
  number: 'double',
  boolean: 'bool',
};

function typesNamedBy({ type, properties, enum: values, const: only }: JsonObject): string[] {
  if (type !== undefined) return [type].flat().filter((name) => typeof name === 'string');
  if (isObject(properties)) return ['object'];
  const all = Array.isArray(values) ? values : only === undefined ? [] : [only];
  return [...new Set(all.map(jsonTypeOf))];
}

function jsonTypeOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** The target of a JSON pointer inside a document: `#/$defs/address`; undefined if the target doesn't exist. */
export function targetOf(root: JsonObject, reference: string): Json | undefined {
  if (!reference.startsWith('#')) return undefined;
  let at: Json | undefined = root;
  for (const segment of reference.slice(1).split('/').slice(1)) {
    const name = decoded(segment).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as JsonObject)[name];
  }
  return at;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
