import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

export type JsonSchema = Record<string, unknown>;
/** A request body is described by the schema's input, a response by its output. */
export type Direction = 'input' | 'output';

const namePrefix = '#/components/schemas/';

/**
 * Collects the named schemas of one API description. A schema with `.meta({ id: 'Claim' })` is described once, under
 * `components/schemas`, and referenced everywhere, including inside other schemas. A schema whose input differs from
 * its output (a default, a conversion) gets a second component, `ClaimInput`, if the API uses both.
 */
export class SchemaComponents {
  readonly #described = { input: new Map<z.ZodType, JsonSchema>(), output: new Map<z.ZodType, JsonSchema>() };
  readonly #found = { input: new Map<string, JsonSchema>(), output: new Map<string, JsonSchema>() };

  /**
   * Describes a schema. The references in the result are provisional until `settle` replaces them. @throws Error when
   * two different schemas have the same name, or a recursive schema has none
   */
  schemaOf(form: z.ZodType, direction: Direction): JsonSchema {
    const known = this.#described[direction].get(form);
    if (known !== undefined) return known;
    const { $schema: _, ...schema } = z.toJSONSchema(form, { io: direction, unrepresentable: 'any' });
    const described = this.#collect(schema, direction) as JsonSchema;
    this.#described[direction].set(form, described);
    return described;
  }

  /** The components by name, and a function that replaces the provisional references in a document. */
  settle(): { schemas: Record<string, JsonSchema>; finish: <T>(document: T) => T } {
    const split = this.#namesOfTwoForms();
    const nameOf = (direction: Direction, name: string) =>
      direction === 'input' && split.has(name) ? `${name}Input` : name;
    const finish = <T>(document: T): T =>
      mapReferences(document, (reference) => {
        const [direction, name] = reference.split(':') as [Direction, string];
        return `${namePrefix}${nameOf(direction, name)}`;
      }) as T;
    const schemas = new Map<string, JsonSchema>();
    for (const direction of ['input', 'output'] as const) {
      for (const [name, schema] of this.#found[direction]) {
        const settled = finish(schema);
        const existing = schemas.get(nameOf(direction, name));
        if (existing !== undefined && !isDeepStrictEqual(existing, settled)) throw nameTaken(name);
        schemas.set(nameOf(direction, name), settled);
      }
    }
    const inOrder = [...schemas].sort(([left], [right]) => (left < right ? -1 : 1));
    return { schemas: Object.fromEntries(inOrder), finish };
  }

  /** Extracts the definitions from a schema, including those that metadata added at deeper levels. */
  #collect(value: unknown, direction: Direction): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#collect(item, direction));
    if (typeof value !== 'object' || value === null) return value;
    const { $defs, ...rest } = value as JsonSchema;
    for (const [name, definition] of Object.entries($defs ?? {})) this.#add(name, definition, direction);
    return Object.fromEntries(
      Object.entries(rest).map(([key, part]) => [
        key,
        typeof part === 'string' ? textOf(key, part, direction) : this.#collect(part, direction),
      ]),
    );
  }

  #add(name: string, definition: unknown, direction: Direction): void {
    const schema = this.#collect(definition, direction) as JsonSchema;
    const existing = this.#found[direction].get(name);
    if (existing !== undefined && !isDeepStrictEqual(existing, schema)) throw nameTaken(name);
    this.#found[direction].set(name, schema);
  }

  /** The schemas whose input and output differ, and those that refer to such a schema. */
  #namesOfTwoForms(): ReadonlySet<string> {
    const { input, output } = this.#found;
    const shared = [...input.keys()].filter((name) => output.has(name));
    const differs = (name: string, split: ReadonlySet<string>) => {
      const neutral = (direction: Direction) =>
        mapReferences(this.#found[direction].get(name), (reference) => {
          const target = reference.slice(direction.length + 1);
          return split.has(target) ? reference : target;
        });
      return !isDeepStrictEqual(neutral('input'), neutral('output'));
    };
    const split = new Set<string>();
    for (let size = -1; size < split.size; ) {
      size = split.size;
      for (const name of shared) if (differs(name, split)) split.add(name);
    }
    return split;
  }
}

/** The component that a reference points to. */
export function readReferredName(reference: string): string {
  return reference.slice(namePrefix.length);
}

function textOf(key: string, text: string, direction: Direction): string {
  if (key === '$ref') return `${direction}:${definitionName(text)}`;
  return key === 'pattern' ? portablePattern(text) : text;
}

/** JavaScript writes `/` as `\\/`, an escape that the regular expressions of other languages reject (Rust, Go). */
function portablePattern(pattern: string): string {
  return pattern.replaceAll(/\\([^])/g, (escape, escaped: string) => (escaped === '/' ? '/' : escape));
}

function definitionName(reference: string): string {
  const name = /^#\/\$defs\/([A-Za-z0-9.-]+)$/.exec(reference)?.[1];
  if (name === undefined) throw new Error(`A recursive schema needs a name: .meta({ id }) (${reference})`);
  return name;
}

function nameTaken(name: string): Error {
  return new Error(`Two different schemas have the id ${name}`);
}

function mapReferences(value: unknown, change: (reference: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => mapReferences(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      key === '$ref' && typeof part === 'string' && /^(input|output):/.test(part)
        ? change(part)
        : mapReferences(part, change),
    ]),
  );
}
