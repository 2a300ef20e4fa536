import type { ItemPage } from '@baton/kernel/database/list';
import { checkLimit, decodeCursor, encodeCursor } from '@baton/kernel/http/paging';
import { idParams } from '@baton/values/keys';
import { type WholeListQuery, wholeListQuery } from '../../service/whole-list.ts';

/**
 * A run's entries, ordered by `seq` (docs/reference/README.md#pagination): without `limit` and `cursor`, the whole
 * list, up to 10,000 entries; otherwise, pages. A cursor contains the last `seq` of a page, and is valid only for this
 * list of this run. Both forms end early, with a `nextCursor`, once the documents of the page reach 4 MiB.
 */

const wholeRowsMax = 10_000;
const documentBytesMax = 4_194_304;

/** An entry's number, and the size of its document. */
export interface JournalRow {
  seq: number;
}

/**
 * The fields shared by all operations that list entries of a run; each adds its path, descriptions, permission,
 * response schema and handler.
 */
export const journalList = {
  method: 'GET',
  params: idParams,
  query: wholeListQuery,
  errors: ['not_found', 'invalid_limit', 'invalid_cursor'],
} as const;

/** Which entries to read. */
export interface JournalSlice {
  readonly afterSeq: number;
  readonly rowsMax: number;
  readonly bytesMax: number;
  readonly cursorName: string;
}

/**
 * @param list the list's name in its cursors
 * @throws Refusal `invalid_limit`, `invalid_cursor`
 */
export function journalSlice({ limit, cursor }: WholeListQuery, list: string, runId: string): JournalSlice {
  const cursorName = `${list}:${runId}`;
  const rowsMax = limit === undefined && cursor === undefined ? wholeRowsMax : checkLimit(limit);
  const [afterSeq] = cursor === undefined ? [0] : decodeCursor(cursorName, cursor, ['integer']);
  return { afterSeq: afterSeq as number, rowsMax, bytesMax: documentBytesMax, cursorName };
}

/**
 * @param count the number of entries before the rows were read; entries are numbered from 1 to this number without gaps
 */
export function journalPage<Row extends JournalRow, Item>(
  { cursorName }: JournalSlice,
  rows: readonly Row[],
  count: number,
  itemOf: (row: Row) => Item,
): ItemPage<Item> {
  const last = rows.at(-1)?.seq;
  const nextCursor = last !== undefined && last < count ? encodeCursor(cursorName, [last]) : null;
  return { items: rows.map(itemOf), nextCursor };
}
