import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { nodesOf, noteRoundedIntegers } from '@baton/values/json';
import type { Json } from '@baton/values/wire';
import { parseIfMatch } from './etag.ts';
import type { Page } from './paging.ts';
import { InvalidRequest, type Problem, UnstorableText } from './refusal.ts';
import type { Operation, Shape } from './service.ts';

const problemsMax = 20;
const problemNameLengthMax = 100;
const problemPathLengthMax = 200;
/**
 * For a body above this size, the values are counted before it is parsed, and the fingerprint is computed from its
 * bytes.
 */
const countedBytesMin = 1_048_576;
/**
 * The maximum number of values in such a body: parsing that many takes at most 110 ms, and 8 MiB of typical JSON
 * contains fewer.
 */
const valuesMax = 250_000;
/** The amount of work per step, which takes a few milliseconds. */
const stepBytes = 262_144;
const stepNodes = 25_000;
/** Baton's own cursors have a few hundred characters at most. */
const cursorCharactersMax = 8000;

/** A request's parsed input. The range of `limit` is not checked yet: see `pagingShape`. */
export interface ParsedInput {
  readonly params: Record<string, unknown>;
  readonly query: Record<string, unknown>;
  readonly body: unknown;
  /** The body before the schema was applied, for the idempotency fingerprint. */
  readonly sent: unknown;
  readonly ifMatch: number;
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
  /** The objects that remain after a list was filtered. */
  readonly only?: Page['only'];
  /** The value that the endpoint's `around` passed to the command. */
  readonly prepared?: unknown;
}

/**
 * `?limit=` and `?cursor=`: only the format is checked here. The command checks the range, because 403 takes precedence
 * over 422.
 */
const pagingShape: Shape = {
  limit: z
    .string()
    .regex(/^-?\d+$/, 'must be an integer')
    .max(cursorCharactersMax)
    .transform(Number)
    .optional()
    .describe('The maximum number of items, 1 to 200; 50 by default.'),
  cursor: z.string().max(cursorCharactersMax).optional().describe('The `nextCursor` of the previous page.'),
};

export function queryShapeOf(endpoint: Pick<Operation, 'query' | 'paging'>): Shape {
  return endpoint.paging ? { ...endpoint.query, ...pagingShape } : endpoint.query;
}

/** A body with a content encoding is refused, because once uncompressed it could have any size. */
const compressed: Problem = {
  in: 'header',
  path: ['content-encoding'],
  type: 'content_encoding',
  message: 'The body must not be compressed',
};

/** `type/subtype` with parameters, without characters that could end a header. */
const mediaTypeForm =
  /^(?=.{3,255}$)[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+(?:[ \t]*;[ \t]*[\x20-\x7e]*)?$/;

const untyped: Problem = {
  in: 'header',
  path: ['content-type'],
  type: 'content_type',
  message: 'A media type of at most 255 characters is required',
};

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Creates the function that parses the requests of one endpoint. It checks query, path and body, then for text that
 * PostgreSQL can't store, then calls `beforeIfMatch`, then parses If-Match. For a large body, it yields to other
 * requests.
 * @throws (the returned function) InvalidRequest with at most 20 problems, UnstorableText, Refusal of If-Match
 */
export function inputReader(endpoint: Operation) {
  const params = z.strictObject(endpoint.params);
  const queryShape = queryShapeOf(endpoint);
  const isKept = endpoint.looseQuery === 'kept';
  const query = isKept ? z.looseObject(queryShape) : z.strictObject(queryShape);
  const knownNames = new Map(Object.keys(queryShape).map((name) => [name.toLowerCase(), name]));
  const { body: bodySchema, bodyOptional } = endpoint;
  return function* read(
    rawParams: unknown,
    sentQuery: unknown,
    headers: IncomingHttpHeaders,
    bytes: Buffer,
    beforeIfMatch?: () => void,
  ): Generator<void, ParsedInput> {
    const problems: Problem[] = [];
    const rawQuery = endpoint.looseQuery === true ? pickQuery(knownNames, sentQuery as object) : sentQuery;
    const parsedQuery = check('query', query, { ...(rawQuery as object) }, problems) as Record<
      string,
      unknown
    >;
    const parsedParams = check('path', params, { ...(rawParams as object) }, problems) as Record<
      string,
      unknown
    >;
    if (
      (bytes.length > 0 || endpoint.bytes) &&
      (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'
    )
      problems.push(compressed);
    if (endpoint.bytes && !mediaTypeForm.test(headers['content-type'] ?? '')) problems.push(untyped);
    const { text, sent } = endpoint.form
      ? readForm(bytes, problems)
      : yield* readJson(bytes, bodySchema !== undefined, bodyOptional, problems);
    yield;
    const body =
      bodySchema === undefined || sent === undefined ? undefined : check('body', bodySchema, sent, problems);
    if (problems.length > 0) throw new InvalidRequest(problems.slice(0, problemsMax));
    yield;
    // Names from clients are never stored without validation.
    const storedQuery = isKept ? pickQuery(knownNames, rawQuery as object) : (rawQuery as object);
    yield* refuseUnstorable(rawParams as object, storedQuery, text, sent);
    beforeIfMatch?.();
    const { limit, cursor, ...rest } = parsedQuery;
    return {
      params: parsedParams,
      query: endpoint.paging ? rest : parsedQuery,
      body,
      sent: bytes.length > countedBytesMin ? { sha256: sha256Of(bytes) } : sent,
      ifMatch: ifMatchOf(endpoint, headers['if-match']),
      limit: endpoint.paging ? (limit as number | undefined) : undefined,
      cursor: endpoint.paging ? (cursor as string | undefined) : undefined,
    };
  };
}

function ifMatchOf({ ifMatch, ifMatchOptional }: Operation, header: string | undefined): number {
  if (ifMatch === undefined) return 0;
  const isAbsent = ifMatchOptional && (header ?? '').trim() === '';
  return isAbsent ? -1 : parseIfMatch(ifMatch, header);
}

/**
 * The known parameters of a loose query.
 * @param knownNames keyed by lower-case name
 */
function pickQuery(knownNames: ReadonlyMap<string, string>, sent: object): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const [sentName, value] of Object.entries(sent)) {
    const name = knownNames.get(sentName.toLowerCase());
    // The same name in a different case counts as repeated, and is refused.
    if (name !== undefined) picked[name] = name in picked ? [picked[name], value] : value;
  }
  return picked;
}

function* readJson(
  bytes: Buffer,
  expected: boolean,
  optional: boolean,
  problems: Problem[],
): Generator<void, { text: string; sent: unknown }> {
  const refuse = (type: string, message: string) => {
    problems.push({ in: 'body', path: [], type, message });
    return { text: '', sent: undefined };
  };
  if (bytes.length === 0) {
    if (!expected || optional) return { text: '', sent: expected ? {} : undefined };
    return refuse('missing', 'A JSON body is required');
  }
  let text: string;
  let sent: unknown;
  if (bytes.length > countedBytesMin && (yield* holdsTooMany(bytes)))
    return refuse('too_many_values', `The body holds more than ${valuesMax} values`);
  try {
    text = decoder.decode(bytes);
    sent = JSON.parse(text);
  } catch {
    return refuse('json_invalid', 'The body is not valid JSON in UTF-8');
  }
  yield;
  if (mayOverflow.test(text) && (yield* holdsInfinity(sent as Json)))
    return refuse('json_invalid', 'The body holds a number that is too large');
  yield* noteRoundedIntegers(text, sent as Json);
  if (!expected) {
    const empty = typeof sent === 'object' && sent !== null && Object.keys(sent).length === 0;
    return empty ? { text: '', sent: undefined } : refuse('extra_forbidden', 'This call takes no body');
  }
  return { text, sent };
}

/**
 * Reads a form (`application/x-www-form-urlencoded`); refuses a repeated name and NUL. A field without a value counts
 * as absent (RFC 6749, section 3.2).
 */
function readForm(bytes: Buffer, problems: Problem[]): { text: string; sent: Record<string, string> } {
  const pairs = [...new URLSearchParams(bytes.toString('utf8'))].filter(([, value]) => value !== '');
  const sent = Object.fromEntries(pairs);
  const isRepeated = Object.keys(sent).length < pairs.length;
  if (isRepeated || pairs.some(([name, value]) => `${name}${value}`.includes('\0')))
    problems.push({
      in: 'body',
      path: [],
      type: 'form_invalid',
      message: 'A name is repeated, or contains NUL',
    });
  return { text: '', sent };
}

/**
 * Digits or an exponent that may exceed the range of a double: JSON.parse converts such a number to Infinity, which
 * would be stored as null.
 */
const mayOverflow = /\d{200}|[eE]\+?\d{3}/;

function* holdsInfinity(sent: Json): Generator<void, boolean> {
  let seen = 0;
  for (const { value } of nodesOf(sent)) {
    if (value === Infinity || value === -Infinity) return true;
    seen += 1;
    if (seen % stepNodes === 0) yield;
  }
  return false;
}

const [quote, backslash, comma, list, object] = [...Buffer.from('"\\,[{')];

/**
 * Whether JSON text contains more values than are parsed at once: each except the first follows a comma, a `[` or a
 * `{`.
 */
function* holdsTooMany(bytes: Buffer): Generator<void, boolean> {
  let values = 1;
  let stepEnd = stepBytes;
  for (let at = 0; at < bytes.length; at += 1) {
    const mark = bytes[at];
    if (mark === quote) at = stringEnd(bytes, at);
    else if (mark === comma || mark === list || mark === object) values += 1;
    if (values > valuesMax) return true;
    if (at < stepEnd) continue;
    stepEnd = at + stepBytes;
    yield;
  }
  return false;
}

/** The position of the quote that ends the string starting at `at`, or the end of the bytes if none does. */
function stringEnd(bytes: Buffer, at: number): number {
  let end = at + 1;
  while (end < bytes.length && bytes[end] !== quote) end += bytes[end] === backslash ? 2 : 1;
  return end;
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function check(where: Problem['in'], schema: z.ZodType, value: unknown, problems: Problem[]): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) problems.push(...problemsOf(where, issue));
  return {};
}

function problemsOf(where: Problem['in'], issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path.map((part) =>
    typeof part === 'number' ? part : String(part).slice(0, problemNameLengthMax),
  );
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, problemsMax).map((key) => ({
      in: where,
      path: [...path, key.slice(0, problemNameLengthMax)],
      type: 'extra_forbidden',
      message: where === 'query' ? 'Unknown query parameter' : 'Unknown field',
    }));
  }
  const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return [
    {
      in: where,
      path,
      type: missing ? 'missing' : issue.code,
      message: missing ? 'Required' : issue.message,
    },
  ];
}

/** PostgreSQL stores neither NUL nor a lone surrogate; JSON can contain both as escapes. */
function* refuseUnstorable(
  params: object,
  query: object,
  text: string,
  sent: unknown,
): Generator<void, void> {
  for (const [name, value] of Object.entries(params)) refuseText(`path.${name}`, String(value));
  for (const [name, value] of Object.entries(query)) refuseText(`query.${name}`, String(value));
  if (/\\u(0000|d[89a-f])/i.test(text)) yield* refuseTextIn(sent as Json);
}

function* refuseTextIn(sent: Json): Generator<void, void> {
  let seen = 0;
  for (const { path, key, value } of nodesOf(sent)) {
    seen += 1;
    if (seen % stepNodes === 0) yield;
    if (key !== undefined) refuseText(path, key);
    if (typeof value === 'string') refuseText(path, value);
  }
}

function refuseText(path: string, value: string): void {
  const code = value.includes('\0') ? 'nul_character' : value.isWellFormed() ? undefined : 'lone_surrogate';
  if (code === undefined) return;
  const shown = path.replaceAll('\0', '').toWellFormed().slice(0, problemPathLengthMax);
  throw new UnstorableText(shown, code);
}
