import { isDeepStrictEqual } from 'node:util';

/** The changes of a PATCH: the values of `wanted` that differ from the row. Undefined leaves a field unchanged. */
export function changesOf<Row extends object>(row: Row, wanted: Partial<Row>): Partial<Row> {
  const entries = Object.entries(wanted) as [keyof Row, unknown][];
  const changed = entries.filter(
    ([name, value]) => value !== undefined && !isDeepStrictEqual(value, row[name]),
  );
  return Object.fromEntries(changed) as Partial<Row>;
}

/**
 * The names of the changed fields, and a new status, for the audit log. Other values are omitted, because they may be
 * personal.
 */
export function changeReason(changed: object): string {
  const names = `changed:${Object.keys(changed).sort().join()}`;
  return 'status' in changed ? `${names} status:${changed.status}` : names;
}
