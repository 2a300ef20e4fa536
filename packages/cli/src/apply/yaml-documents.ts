import {
  CORE_SCHEMA,
  constructFromEvents,
  EVENT_ID,
  type Event,
  getScalarValue,
  parseEvents,
  YAMLException,
} from 'js-yaml';

/** Parses YAML 1.2, and JSON, which is YAML too; records the position of every value. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** A position in a text; the line and the column start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One document of a text. */
export interface TextDocument {
  readonly value: unknown;
  /** Returns the position of a JSON pointer's value, or of its nearest existing parent. */
  positionOf(pointer: string): Position;
}

/** An error in a text, with its position. */
export class TextFault extends Error {
  readonly position: Position;

  constructor(message: string, position: Position) {
    super(message);
    this.position = position;
  }
}

/** The service's limits for a document in a package. */
export const documentBounds = {
  depthMax: 64,
  valuesMax: 20_000,
  aliasesMax: 100,
  documentsMax: 1000,
} as const;

/**
 * Returns the documents in a text, without empty ones. Each item of a top-level list is a document.
 * @throws TextFault for invalid YAML, for a value that JSON doesn't have, and beyond the limits
 */
export function readDocuments(source: string): TextDocument[] {
  const { depthMax, aliasesMax, documentsMax } = documentBounds;
  try {
    const events = parseEvents(source, { maxDepth: depthMax });
    if (events.filter(({ type }) => type === EVENT_ID.DOCUMENT).length > documentsMax) throw tooMany;
    const values = constructFromEvents(events, { source, schema: CORE_SCHEMA, maxAliases: aliasesMax });
    const starts = events.flatMap(({ type }, at) => (type === EVENT_ID.DOCUMENT ? [at] : []));
    const lineStarts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
    return values.flatMap((value, at) => {
      if (value === null) return [];
      const to = starts[at + 1] ?? events.length;
      const places = { source, lineStarts, events, from: starts[at] ?? 0, to };
      const plain = plainCopy(value, places);
      if (!Array.isArray(plain)) return [documentOf(plain, places, '')];
      if (plain.length > documentsMax) throw tooMany;
      return plain.map((item, n) => documentOf(item, places, `/${n}`));
    });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { line = 0, column = 0 } = error.mark ?? {};
    throw new TextFault(error.reason, { line: line + 1, column: column + 1 });
  }
}

const tooMany = new TextFault(
  `a file may contain at most ${documentBounds.documentsMax} documents: split it into several files`,
  { line: 1, column: 1 },
);

interface Places {
  readonly source: string;
  /** Offsets at which lines begin. */
  readonly lineStarts: readonly number[];
  readonly events: readonly Event[];
  readonly from: number;
  readonly to: number;
}

function documentOf(value: unknown, places: Places, root: string): TextDocument {
  return { value, positionOf: (pointer) => positionIn(places, root + pointer) };
}

/** Copies a value without shared parts: each alias counts. @throws TextFault */
function plainCopy(document: unknown, places: Places): unknown {
  const { depthMax, valuesMax } = documentBounds;
  let left: number = valuesMax;
  const copy = (value: unknown, pointer: string, depth: number): unknown => {
    const fault = (message: string) => new TextFault(message, positionIn(places, pointer));
    left -= 1;
    if (left < 0) throw fault(`the document has more than ${valuesMax} values, aliases counted each time`);
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'string') {
      if (value.includes('\0') || !value.isWellFormed())
        throw fault('the text contains a NUL character or half of a surrogate pair');
      return value;
    }
    if (typeof value === 'number') {
      if (Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)) return value;
      throw fault("JSON can't represent this number exactly: put it in quotes");
    }
    if (typeof value !== 'object') throw fault('JSON has no such value');
    if (depth >= depthMax) throw fault(`the document is nested deeper than ${depthMax}`);
    if (Array.isArray(value)) return value.map((item, n) => copy(item, `${pointer}/${n}`, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        copy(member, `${pointer}/${escapePointer(name)}`, depth + 1),
      ]),
    );
  };
  return copy(document, '', 0);
}

/** A name as a part of a JSON pointer. */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

interface Frame {
  readonly pointer: string;
  readonly isMapping: boolean;
  count: number;
  /** The state of a mapping between reading a key and reading its value. */
  key: { readonly name: string; readonly at: number } | undefined;
}

/** Walks through the events of one document up to the pointer's value. */
function positionIn({ source, lineStarts, events, from, to }: Places, pointer: string): Position {
  let best = { length: -1, at: 0 };
  const frames: (Frame | undefined)[] = [];
  for (let n = from + 1; n < to; n += 1) {
    const event = events[n] as Event;
    if (event.type === EVENT_ID.POP) {
      frames.pop();
      continue;
    }
    const at = startOf(event);
    const frame = frames.at(-1);
    const isCollection = event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE;
    if (frame?.isMapping === true && frame.key === undefined) {
      frame.key = { name: event.type === EVENT_ID.SCALAR ? getScalarValue(source, event) : '', at };
      if (isCollection) frames.push(undefined);
      continue;
    }
    const found =
      frame === undefined
        ? { pointer: '', at }
        : frame.isMapping
          ? { pointer: `${frame.pointer}/${escapePointer(frame.key?.name ?? '')}`, at: frame.key?.at ?? at }
          : { pointer: `${frame.pointer}/${frame.count}`, at };
    if (frame !== undefined) {
      frame.count += 1;
      frame.key = undefined;
    }
    const isAround = pointer === found.pointer || pointer.startsWith(`${found.pointer}/`);
    if (isAround && found.pointer.length > best.length) best = { length: found.pointer.length, at: found.at };
    if (found.pointer === pointer) break;
    if (isCollection)
      frames.push({
        pointer: found.pointer,
        isMapping: event.type === EVENT_ID.MAPPING,
        count: 0,
        key: undefined,
      });
  }
  return lineOf(lineStarts, Math.max(best.at, 0));
}

/** Binary search: a file may have a thousand problems. */
function lineOf(lineStarts: readonly number[], at: number): Position {
  let [low, high] = [0, lineStarts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((lineStarts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: at - (lineStarts[low] ?? 0) + 1 };
}

function startOf(event: Exclude<Event, { type: typeof EVENT_ID.POP }>): number {
  if (event.type === EVENT_ID.SCALAR) return event.valueStart;
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart;
  return event.type === EVENT_ID.DOCUMENT ? 0 : event.start;
}
