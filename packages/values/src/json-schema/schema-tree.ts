import type { Json, JsonObject } from '../wire.ts';
import { pointerKey, type Resource, type Subschema } from './evaluation.ts';
import { isObject, keywordForms } from './keywords.ts';
import { compilePattern, type Pattern, patternSize, patternSizeMax, patternSizesMax } from './patterns.ts';

/** The maximum number of references in one schema; no handwritten schema so far has more. */
const referencesMax = 1_000;

/** The reason why a document is not a valid schema, with the location. */
export class SchemaDefect extends Error {
  readonly path: string;
  readonly ref: string | undefined;

  constructor(path: string, message: string, ref?: string) {
    super(message);
    this.path = path;
    this.ref = ref;
  }
}

/** A parsed schema: every schema inside of it, keyed by JSON pointer. */
export interface SchemaTree {
  readonly subschemas: ReadonlyMap<string, Subschema>;
  readonly documents: ReadonlyMap<Subschema, Json>;
  readonly patterns: ReadonlyMap<string, Pattern>;
  /** The schema that a reference inside a resource points to, if any. */
  targetOf(resource: Resource, reference: string): Subschema | undefined;
}

/** @throws SchemaDefect */
export function readSchema(document: Json): SchemaTree {
  const reader = new SchemaReader();
  reader.read(document, '', { pointer: '', anchors: new Map(), dynamicAnchors: new Map() });
  reader.requireTargets();
  reader.requireEnds();
  return reader;
}

class SchemaReader implements SchemaTree {
  readonly subschemas = new Map<string, Subschema>();
  readonly documents = new Map<Subschema, Json>();
  readonly patterns = new Map<string, Pattern>();
  readonly #references: { from: Subschema; keyword: string; reference: string }[] = [];
  /** For each schema, the schemas that apply to the same value. */
  readonly #applied = new Map<Subschema, Subschema[]>();
  #patternSizes = 0;

  read(schema: Json, pointer: string, outer: Resource): Subschema {
    if (!isObject(schema) && typeof schema !== 'boolean')
      throw new SchemaDefect(pointer, 'must be a schema: an object, true or false');
    const isResource = isObject(schema) && Object.hasOwn(schema, '$id') && pointer !== '';
    const resource: Resource = isResource
      ? { pointer, anchors: new Map(), dynamicAnchors: new Map() }
      : outer;
    const subschema: Subschema = { pointer, resource, checks: [], tracks: false };
    this.subschemas.set(pointer, subschema);
    this.documents.set(subschema, schema);
    this.#applied.set(subschema, []);
    if (isObject(schema))
      for (const [name, value] of Object.entries(schema)) this.#readKeyword(subschema, name, value);
    return subschema;
  }

  #readKeyword(subschema: Subschema, name: string, value: Json): void {
    const form = keywordForms.get(name);
    if (form === undefined) return;
    const pointer = subschema.pointer + pointerKey(name);
    const fault = form.fault(value);
    if (fault !== undefined)
      throw new SchemaDefect(
        pointer,
        fault,
        name.endsWith('Ref') || name === '$ref' ? shown(value) : undefined,
      );
    if (name === '$ref' || name === '$dynamicRef') this.#note(subschema, name, value as string);
    if (name === '$anchor' || name === '$dynamicAnchor')
      this.#name(subschema, pointer, name, value as string);
    if (name === 'pattern') this.#compile(value as string, pointer);
    if (name === 'patternProperties')
      for (const text of Object.keys(value as JsonObject)) this.#compile(text, pointer + pointerKey(text));
    const inside = this.#readInside(subschema, form.place, value, pointer);
    if (appliesToSame.has(name)) (this.#applied.get(subschema) as Subschema[]).push(...inside);
  }

  #readInside({ resource }: Subschema, place: string, value: Json, pointer: string): Subschema[] {
    if (place === 'value') return [];
    if (place === 'schema') return [this.read(value, pointer, resource)];
    return Object.entries(value as JsonObject).map(([key, schema]) =>
      this.read(schema, pointer + pointerKey(key), resource),
    );
  }

  #note(from: Subschema, keyword: string, reference: string): void {
    this.#references.push({ from, keyword, reference });
    if (this.#references.length > referencesMax)
      throw new SchemaDefect(from.pointer, `must not have more than ${referencesMax} references`);
  }

  #name(subschema: Subschema, pointer: string, keyword: string, name: string): void {
    const { anchors, dynamicAnchors } = subschema.resource;
    if (anchors.has(name)) throw new SchemaDefect(pointer, 'must be unique among the anchors');
    anchors.set(name, subschema);
    if (keyword === '$dynamicAnchor') dynamicAnchors.set(name, subschema);
  }

  #compile(text: string, pointer: string): void {
    if (this.patterns.has(text)) return;
    const size = patternSize(text);
    this.#patternSizes += size;
    if (size > patternSizeMax || this.#patternSizes > patternSizesMax)
      throw new SchemaDefect(
        pointer,
        `is too large a pattern: the limit is ${patternSizeMax}, and ${patternSizesMax} for all patterns of a schema`,
      );
    try {
      this.patterns.set(text, compilePattern(text));
    } catch {
      throw new SchemaDefect(pointer, 'is not an RE2 pattern, which can be matched in linear time');
    }
  }

  targetOf(resource: Resource, reference: string): Subschema | undefined {
    const fragment = decoded(reference.slice(1));
    if (fragment === undefined) return undefined;
    if (fragment === '' || fragment[0] === '/') return this.subschemas.get(resource.pointer + fragment);
    return resource.anchors.get(fragment);
  }

  requireTargets(): void {
    for (const { from, keyword, reference } of this.#references) {
      const target = this.targetOf(from.resource, reference);
      if (target === undefined)
        throw new SchemaDefect(`${from.pointer}/${keyword}`, 'does not refer to a schema', shown(reference));
      (this.#applied.get(from) as Subschema[]).push(target);
    }
  }

  /** Refuses a schema that refers back to itself for the same value, because applying it would never end. */
  requireEnds(): void {
    const ended = new Set<Subschema>();
    for (const start of this.subschemas.values()) {
      // The schemas on the path to the current one, each with its remaining references.
      const way = [{ subschema: start, rest: [...(this.#applied.get(start) as Subschema[])] }];
      const onWay = new Set([start]);
      for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
        const next = last.rest.pop();
        if (next === undefined) {
          ended.add(last.subschema);
          onWay.delete(last.subschema);
          way.pop();
        } else if (onWay.has(next)) throw new SchemaDefect(next.pointer, 'refers back to itself');
        else if (!ended.has(next)) {
          onWay.add(next);
          way.push({ subschema: next, rest: [...(this.#applied.get(next) as Subschema[])] });
        }
      }
    }
  }
}

/** Keywords whose schemas apply to the value itself, and not to a member of it. */
const appliesToSame: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
]);

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

/** A sent value, formatted for refusals. */
function shown(value: Json): string {
  return String(value).slice(0, 200).toWellFormed();
}
