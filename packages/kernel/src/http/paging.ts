import { Refusal } from './refusal.ts';

export const pageLimitDefault = 50;
export const pageLimitMax = 200;

/** The start of a page, and its length. */
export interface Page {
  readonly limit: number;
  /** The cursor as sent, not decoded; absent for the first page. */
  readonly cursor: string | undefined;
  /** The allowed ids in the list's column; absent if the list isn't restricted. */
  readonly only?: { readonly column: string; readonly ids: readonly string[] } | undefined;
}

/** The last row of the previous page, represented by its values in the columns that order the list. */
export type Position = readonly (string | number | null)[];

/** The type of a value in a cursor; `timestamp?` may also be null. */
export type CursorForm = 'timestamp' | 'uuid' | 'integer' | 'timestamp?' | 'slug';

/**
 * Cursors are opaque and bound to their ordering: `name` identifies the list and its order, and a cursor with another
 * name is refused. They contain positions, not secrets, so they are not signed; a forged cursor only changes where the
 * page starts.
 */
export function encodeCursor(name: string, position: Position): string {
  return Buffer.from(JSON.stringify([name, ...position])).toString('base64url');
}

/** @throws Refusal `invalid_cursor` */
export function decodeCursor(name: string, cursor: string, forms: readonly CursorForm[]): Position {
  const refusal = new Refusal('invalid_cursor');
  if (!/^[A-Za-z0-9_-]{1,1000}$/.test(cursor)) throw refusal;
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw refusal;
  }
  if (!Array.isArray(parsed) || parsed[0] !== name || parsed.length !== forms.length + 1) throw refusal;
  const position = parsed.slice(1) as Position;
  if (position.some((value, index) => !fits(value, forms[index]))) throw refusal;
  return position;
}

function fits(value: unknown, form: CursorForm | undefined): boolean {
  if (form === 'integer') return Number.isSafeInteger(value) && (value as number) >= 0;
  if (form === 'timestamp?' && value === null) return true;
  if (typeof value !== 'string') return false;
  if (form === 'slug') return /^[a-z0-9][a-z0-9-]{0,62}$/.test(value);
  if (form === 'uuid') return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
  return isStorableInstant(value);
}

/**
 * Whether PostgreSQL accepts the instant. JavaScript also accepts the year 0, and treats 30 February as a day in March.
 */
function isStorableInstant(text: string): boolean {
  if (!/^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)) return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text;
}

/**
 * Cuts a page out of `limit + 1` rows read.
 * @returns the page's rows and the cursor after its last one, null when no more exist
 */
export function cutPage<Row>(
  rows: readonly Row[],
  { limit }: Page,
  name: string,
  positionOf: (row: Row) => Position,
): { rows: Row[]; nextCursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? encodeCursor(name, positionOf(last)) : null;
  return { rows: page, nextCursor };
}

/** @throws Refusal `invalid_limit` for a length outside the range 1 to 200 */
export function checkLimit(limit: number | undefined, max: number = pageLimitMax): number {
  if (limit === undefined) return pageLimitDefault;
  if (limit < 1 || limit > max) throw new Refusal('invalid_limit', { min: 1, max });
  return limit;
}
