/** The service's limits for a free-form document: its bytes as compact JSON, its levels, and its values. */
const documentBytesMax = 65_536;
const levelsMax = 20;
const valuesMax = 5_000;
/** The limit for a whole line. Lines below it are parsed, so that the message can name the report that is too deep. */
const lineLevelsMax = 1_000;

const replacement = '\uFFFD';

export interface StorableJson {
  readonly value: unknown;
  /** The changes, in words for people. */
  readonly changes: readonly string[];
}

/** A JSON text that the service can't store. The message gives the reason. */
export class UnstorableError extends Error {
  override readonly name = 'UnstorableError';
}

/**
 * Parses a JSON text into a document that the service can store: PostgreSQL stores neither NUL nor half of a
 * surrogate pair, and readers of JSON round integers beyond 2^53 and numbers beyond a double. NUL and such halves
 * become U+FFFD, and such numbers become strings.
 * @throws SyntaxError for invalid JSON; UnstorableError if it is nested too deeply
 */
export function parseStorable(json: string): StorableJson {
  const changes = new Set<string>();
  const store = (text: string): string => {
    const stored = text.replaceAll('\0', replacement).toWellFormed();
    if (stored !== text) changes.add('characters that cannot be stored were replaced by U+FFFD');
    return stored;
  };
  const storable = store(json);
  // Checked first, because `JSON.parse` with a reviver recurses and could overflow the stack.
  if (levelsOf(JSON.parse(storable)) > lineLevelsMax) throw new UnstorableError(tooDeep);
  const value: unknown = JSON.parse(storable, (_key, item: unknown, context?: { source?: string }) => {
    if (typeof item === 'string') return store(item);
    if (typeof item === 'number' && isRounded(item)) {
      changes.add('numbers that would have been rounded are stored as text');
      return context?.source ?? String(item);
    }
    return isObject(item) ? withKeys(item, store) : item;
  });
  return { value, changes: [...changes] };
}

/** @returns why the service rejects the document; undefined if it doesn't */
export function faultOfDocument(document: Record<string, unknown>): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(document));
  if (bytes > documentBytesMax) return `it has ${bytes} bytes, more than ${documentBytesMax}`;
  if (levelsOf(document) > levelsMax) return tooDeep;
  const values = countValues(document);
  return values > valuesMax ? `it holds ${values} values, more than ${valuesMax}` : undefined;
}

const tooDeep = `it is nested more than ${levelsMax} levels deep`;

/** Every integer beyond 2^53 counts as rounded, because its JSON form may differ from its exact value. */
function isRounded(number: number): boolean {
  return !Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number));
}

function withKeys(object: Record<string, unknown>, store: (text: string) => string): Record<string, unknown> {
  const keys = Object.keys(object);
  if (keys.every((key) => store(key) === key)) return object;
  return Object.fromEntries(Object.entries(object).map(([key, item]) => [store(key), item]));
}

function levelsOf(document: unknown): number {
  let levels = 0;
  for (let level = [document].filter(isNested); level.length > 0; levels += 1)
    level = level.flatMap((item) => Object.values(item).filter(isNested));
  return levels;
}

function countValues(document: unknown): number {
  let values = 0;
  for (let level = [document]; level.length > 0; ) {
    values += level.length;
    level = level.filter(isNested).flatMap((item) => Object.values(item) as unknown[]);
  }
  return values;
}

function isNested(item: unknown): item is object {
  return typeof item === 'object' && item !== null;
}

function isObject(item: unknown): item is Record<string, unknown> {
  return isNested(item) && !Array.isArray(item);
}
