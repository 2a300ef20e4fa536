import { z } from 'zod';
import type { EventDeclaration } from '@baton/kernel/http/service';

/**
 * Computes the possible values of a path in a document whose JSON Schema is known. The result is used for warnings,
 * which report only what is certainly a defect.
 */

/** The JSON types that a value may have; `any` if the schema doesn't restrict them. */
export type PathTypes = ReadonlySet<string> | 'any' | 'absent';

type Schema = { readonly [name: string]: unknown };

const schemas = new WeakMap<EventDeclaration, Schema>();

/** The schema of an event's payload, built once per process. */
export function payloadSchemaOf(event: EventDeclaration): Schema {
  const known = schemas.get(event) ?? schemaOf(event.payload);
  schemas.set(event, known);
  return known;
}

export function schemaOf(form: z.ZodType): Schema {
  return z.toJSONSchema(form, { io: 'input', unrepresentable: 'any' });
}

/** The types at the end of a path, without its root; `absent` if the schema has no such member. */
export function typesAt(root: Schema, segments: readonly string[]): PathTypes {
  let places: Schema[] = [root];
  for (const segment of segments) {
    const next = places.flatMap((place) => alternativesOf(root, place)).map((place) => step(place, segment));
    if (next.includes('any')) return 'any';
    places = next.filter((place): place is Schema => typeof place === 'object');
    if (places.length === 0) return 'absent';
  }
  const types = places.flatMap((place) => alternativesOf(root, place)).map(ownTypes);
  if (types.includes('any')) return 'any';
  return new Set(types.filter((one): one is string[] => Array.isArray(one)).flat());
}

/** The alternatives of a schema, or the schema itself. */
function alternativesOf(root: Schema, schema: Schema, levels = 8): Schema[] {
  if (levels === 0) return [{}];
  const of = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(of)) return of.flatMap((one: Schema) => alternativesOf(root, one, levels - 1));
  const name = /^#\/\$defs\/(.+)$/.exec(String(schema['$ref'] ?? ''))?.[1];
  if (name === undefined) return [schema];
  const target = (root['$defs'] as Schema | undefined)?.[name] as Schema | undefined;
  return target === undefined ? [{}] : alternativesOf(root, target, levels - 1);
}

function step(place: Schema, segment: string): Schema | 'any' | 'absent' {
  const { type, properties, additionalProperties, items } = place as {
    type?: unknown;
    properties?: Record<string, Schema>;
    additionalProperties?: unknown;
    items?: unknown;
  };
  if (type === 'array') return /^\d+$/.test(segment) ? known(items) : 'absent';
  if (type !== 'object') return type === undefined ? 'any' : 'absent';
  if (properties !== undefined && Object.hasOwn(properties, segment)) return known(properties[segment]);
  if (additionalProperties === false) return 'absent';
  return known(additionalProperties);
}

function known(schema: unknown): Schema | 'any' {
  return typeof schema === 'object' && schema !== null ? (schema as Schema) : 'any';
}

function ownTypes({ type, enum: values, const: only }: Schema): string[] | 'any' {
  if (typeof type === 'string') return [type === 'integer' ? 'number' : type];
  if (Array.isArray(values)) return values.map(typeOf);
  return only === undefined ? 'any' : [typeOf(only)];
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
