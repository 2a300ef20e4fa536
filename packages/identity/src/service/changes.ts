import { isDeepStrictEqual } from 'node:util';

/** What a PATCH changes, for all objects that are changed field by field. */

/** The values of `wanted` that a row doesn't have yet; what is undefined is not wanted. */
export function changesOf<Row extends object>(row: Row, wanted: Partial<Row>): Partial<Row> {
  const entries = Object.entries(wanted) as [keyof Row, unknown][];
  const changed = entries.filter(
    ([name, value]) => value !== undefined && !isDeepStrictEqual(value, row[name]),
  );
  return Object.fromEntries(changed) as Partial<Row>;
}

/** The names of what changed for the audit record, and a new status; names of people and things are not repeated. */
export function changeReason(changed: object): string {
  const names = `changed:${Object.keys(changed).sort().join()}`;
  return 'status' in changed ? `${names} status:${changed.status}` : names;
}
