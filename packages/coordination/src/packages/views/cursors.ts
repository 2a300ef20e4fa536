import { Refusal } from '@baton/kernel/http/refusal';
import { columnTypes, type FieldType, storedValue } from './field-values.ts';
import type { SortKey, Start, Stored } from './rows.sql.ts';

const typeOf = new Map<string, FieldType>(
  Object.entries(columnTypes).map(([type, storedAs]) => [storedAs, type as FieldType]),
);

/**
 * The values of the last row of the previous page, from a cursor of the same query; undefined for the first page.
 * @throws Refusal `invalid_cursor`
 */
export function startOf(name: string, cursor: string | null | undefined, keys: readonly SortKey[]): Start {
  if (cursor == null) return undefined;
  const [of, ...values] = parsed(cursor);
  if (of !== name || values.length !== keys.length) return invalid();
  return values.map((value, n) => {
    if (value === null) return null;
    const type = typeOf.get(keys[n]?.storedAs as string) ?? 'number';
    // PostgreSQL can't store such a string, so no row can contain it.
    const stored: Stored | undefined = String(value).includes('\0') ? undefined : storedValue(type, value);
    const isPlace = keys[n]?.storedAs === 'smallint';
    return stored === undefined || (isPlace && !isSmall(stored)) ? invalid() : stored;
  });
}

function parsed(cursor: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(value)) return value;
  } catch {
    // Not JSON.
  }
  return invalid();
}

const isSmall = (value: Stored) => Number.isInteger(value) && Math.abs(value as number) < 32_768;

function invalid(): never {
  throw new Refusal('invalid_cursor');
}
