import { z } from 'zod';
import { queryShapeOf } from '../../http/input.ts';
import type { Operation } from '../../http/service.ts';
import { type SampleRequest, sampleUuid } from '../matrix/matrix-service.ts';

/**
 * One of the requests that are the most expensive for an endpoint to read: the body and query that replace those of a
 * valid request.
 */
export interface Hostile {
  readonly name: string;
  readonly text?: string;
  /** With its question mark. */
  readonly query?: string;
}

type JsonSchema = Readonly<Record<string, unknown>>;

interface Growth {
  readonly definitions: Readonly<Record<string, JsonSchema>>;
  /** The share of each maximum length; less than 1 if the body would otherwise exceed its limit. */
  readonly share: number;
  readonly depth: number;
  /** The remaining size: the longest lists of the longest strings would not fit into memory. */
  readonly left: { bytes: number };
}

/** For fields without a declared limit. The `bounds` check reports them; here the value only has to be large. */
const unboundedItems = 5000;
const unboundedCharacters = 100_000;
const freeNodes = 4900;
const freeDepth = 18;
const queryCharactersMax = 6000;
const shares = [0, 0.003, 0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 1];
const depthMax = 8;
/** The number of bytes that each connection sends to an endpoint that doesn't parse its body. */
const bytesSentMax = 4_194_304;

/**
 * Generates the worst requests of an endpoint from its declaration: the longest lists and strings, the deepest
 * documents, and full-size bodies that are the most expensive to read, with numbers that may be rounded, unknown names
 * and nesting.
 * @param sample a valid request, whose identifiers refer to real objects; @param bytesMax of a body
 */
export function worstRequests(endpoint: Operation, sample: SampleRequest, bytesMax: number): Hostile[] {
  return [{ name: 'as it is' }, ...worstBodies(endpoint, sample, bytesMax), ...worstQueries(endpoint)];
}

function worstBodies(endpoint: Operation, sample: SampleRequest, bytesMax: number): Hostile[] {
  if (endpoint.form) return worstForms(bytesMax);
  if (endpoint.bytes) return [{ name: 'bytes', text: 'x'.repeat(Math.min(bytesMax, bytesSentMax)) }];
  // The most expensive bodies to read. They are grouped as one kind, because the same code reads the bodies of all
  // endpoints.
  const raw = [
    filled('{"x":[', '1e22,', '1]}', bytesMax),
    filled('{"x":[', '9007199254740993,', '1]}', bytesMax),
    named(bytesMax),
    `{"x":${'['.repeat(bytesMax / 2 - 5)}${']'.repeat(bytesMax / 2 - 5)}}`,
    filled('{"x":"', '\\u0041', '\\u0000"}', bytesMax),
  ].map((text): Hostile => ({ name: 'full size', text }));
  if (endpoint.body === undefined) return raw.slice(0, 1);
  const form = endpoint.body;
  const grown = (given: unknown) => {
    const fitting = shares.map((share) => () => textOf(form, given, share, bytesMax));
    let largest: string | undefined;
    for (const next of fitting) {
      const text = next();
      if (text === undefined) break;
      largest = text;
    }
    return largest;
  };
  const [largest, longest] = [grown(sample.body), grown(undefined)];
  return [
    ...(largest === undefined ? [] : [{ name: 'largest', text: largest }]),
    ...(longest === undefined || longest === largest ? [] : [{ name: 'longest', text: longest }]),
    ...raw,
  ];
}

/** The body in which every value has this share of its maximum; undefined if it is too long. */
function textOf(form: z.ZodType, given: unknown, share: number, bytesMax: number): string | undefined {
  const left = { bytes: bytesMax };
  const text = JSON.stringify(grow(schemaOf(form), given, { ...definitionsOf(form), share, depth: 0, left }));
  return text === undefined || left.bytes < 0 || Buffer.byteLength(text) > bytesMax ? undefined : text;
}

function schemaOf(form: z.ZodType): JsonSchema {
  const { $defs: _, ...schema } = z.toJSONSchema(form, { io: 'input', unrepresentable: 'any' });
  return schema;
}

function definitionsOf(form: z.ZodType): Pick<Growth, 'definitions'> {
  const { $defs = {} } = z.toJSONSchema(form, { io: 'input', unrepresentable: 'any' });
  return { definitions: $defs };
}

function worstForms(bytesMax: number): Hostile[] {
  const names = Array.from({ length: bytesMax / 8 }, (_, at) => `${at.toString(36).padStart(5, 'a')}=1`);
  return [
    { name: 'names', text: names.join('&').slice(0, bytesMax) },
    { name: 'escapes', text: filled('token=', '%41', 'x', bytesMax) },
  ];
}

/** Repeats the part as often as it fits. */
function filled(start: string, part: string, end: string, bytesMax: number): string {
  return `${start}${part.repeat(Math.floor((bytesMax - start.length - end.length) / part.length))}${end}`;
}

function named(bytesMax: number): string {
  const pair = (at: number) => `"${at.toString(36).padStart(4, '0')}":0`;
  const count = Math.floor((bytesMax - 2) / (pair(0).length + 1));
  return `{${Array.from({ length: count }, (_, at) => pair(at)).join()}}`;
}

/** Each parameter alone with its longest value, then all of them together. */
function worstQueries(endpoint: Operation): Hostile[] {
  const pairs = Object.entries(queryShapeOf(endpoint)).map(([name, form]) => {
    const growth = { ...definitionsOf(form), share: 1, depth: 0, left: { bytes: queryCharactersMax } };
    const value = grow(schemaOf(form), undefined, growth);
    const text = String(Array.isArray(value) ? value.join() : value).slice(0, queryCharactersMax);
    return `${name}=${encodeURIComponent(text).slice(0, queryCharactersMax).replace(/%.?$/, '')}`;
  });
  const all = pairs.join('&').slice(0, 2 * queryCharactersMax);
  return [...new Set([...pairs, all])]
    .filter((query) => query !== '')
    .map((query) => ({ name: 'query', query: `?${query}` }));
}

/** The largest value of a schema, or the given one for strings with a meaning. Undefined if none is known. */
function grow(form: JsonSchema, given: unknown, growth: Growth): unknown {
  const deeper = { ...growth, depth: growth.depth + 1 };
  if (growth.depth > depthMax) return given;
  if (typeof form['$ref'] === 'string')
    return grow(growth.definitions[form['$ref'].replace('#/$defs/', '')] ?? {}, given, deeper);
  if (form['const'] !== undefined) return form['const'];
  if (Array.isArray(form['enum'])) return given ?? form['enum'].at(-1);
  const choices = (form['anyOf'] ?? form['oneOf'] ?? form['allOf']) as JsonSchema[] | undefined;
  if (choices !== undefined) return largestOf(choices.map((choice) => grow(choice, given, deeper)));
  switch (form['type']) {
    case 'object':
      return grownObject(form, given, deeper);
    case 'array':
      return grownList(form, given, deeper);
    case 'string':
      return grownText(form, given, growth);
    case 'integer':
    case 'number':
      return typeof given === 'number' ? given : Number(form['maximum'] ?? Number.MAX_SAFE_INTEGER);
    case 'boolean':
      return given ?? true;
    case 'null':
      return null;
    default:
      return freeDocument(growth);
  }
}

function largestOf(values: readonly unknown[]): unknown {
  const lengthOf = (value: unknown) => (value === undefined ? -1 : JSON.stringify(value).length);
  return values.reduce(
    (largest, value) => (lengthOf(value) > lengthOf(largest) ? value : largest),
    undefined,
  );
}

function grownObject(
  { properties, additionalProperties, maxProperties }: JsonSchema,
  given: unknown,
  growth: Growth,
) {
  if (properties === undefined && typeof additionalProperties !== 'object') return freeDocument(growth);
  const known = (typeof given === 'object' && given !== null ? given : {}) as Readonly<
    Record<string, unknown>
  >;
  const fields = Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(([name, field]) => [
    name,
    grow(field, known[name], growth),
  ]);
  const count = typeof additionalProperties === 'object' ? scaled(maxProperties, unboundedItems, growth) : 0;
  for (let at = 0; at < count && growth.left.bytes > 0; at += 1)
    fields.push([`name-${at}`, grow(additionalProperties as JsonSchema, undefined, growth)]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

function grownList(
  { items = {}, maxItems, minItems }: JsonSchema,
  given: unknown,
  growth: Growth,
): unknown[] {
  const [first] = Array.isArray(given) ? given : [];
  const count = Math.max(scaled(maxItems, unboundedItems, growth), Number(minItems ?? 0), 1);
  const list = Array.from({ length: count }, (_, at) => {
    growth.left.bytes -= 1;
    if (growth.left.bytes < 0) return undefined;
    const value = grow(items as JsonSchema, first, growth);
    // Distinct strings, because most lists are sets.
    return typeof value === 'string' && first === undefined
      ? `${at}${value}`.slice(0, Math.max(value.length, 1))
      : value;
  });
  return list.filter((value) => value !== undefined);
}

function grownText(
  { format, pattern, maxLength }: JsonSchema,
  given: unknown,
  growth: Growth,
): string | undefined {
  if (format === 'uuid') return typeof given === 'string' ? given : sampleUuid;
  if (format === 'date-time') return typeof given === 'string' ? given : '2026-03-02T09:00:00.000Z';
  if (typeof given === 'string' && growth.depth <= 2) return given;
  const length = scaled(maxLength, pattern === undefined ? unboundedCharacters : 200, growth);
  const fitting = [
    'ab '.repeat(Math.ceil(length / 3)),
    'a'.repeat(length),
    'a'.repeat(63),
    `agent:${'a'.repeat(200)}`,
  ]
    .map((text) => text.slice(0, length))
    .find((text) => typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text));
  growth.left.bytes -= length;
  return fitting ?? (typeof given === 'string' ? given : undefined);
}

function scaled(max: unknown, otherwise: number, { share }: Growth): number {
  return Math.floor(Number(max ?? otherwise) * share);
}

/** A document with the maximum depth and width, of numbers that are the most expensive to read. */
function freeDocument({ share }: Growth): object {
  let deep: object = {};
  for (let level = 1; level < freeDepth; level += 1) deep = { a: deep };
  return { deep, wide: Array.from({ length: Math.floor((freeNodes - freeDepth) * share) }, () => 1e22) };
}
