import { z } from 'zod';
import type { ItemPage } from '@baton/kernel/database/list';
import { checkLimit, decodeCursor, encodeCursor } from '@baton/kernel/http/paging';
import { QueryWord } from '@baton/values/wire';

/**
 * Lists of what a run wrote, in the order of `seq` (core, section 1.6): without `limit` and `cursor` whole, up to 10,000
 * entries, else by pages; a cursor is the last `seq`, and of this list of this run. Either ends early once the documents
 * in it come to 4 MiB: then, too, `nextCursor` leads on.
 */

const wholeRowsMax = 10_000;
const documentBytesMax = 4_194_304;

/** Of an entry: its number, and the size of its document. */
export interface JournalRow {
  seq: number;
}

export const journalQuery = {
  limit: z
    .string()
    .max(100)
    .regex(/^-?\d+$/, 'must be an integer')
    .transform(Number)
    .optional()
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: 200,
      description: 'How many items at most, 1 to 200. Without it and without a cursor the list comes whole.',
    }),
  cursor: QueryWord.optional().describe('The `nextCursor` of the page before.'),
};

export interface JournalQuery {
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** Which entries to read. */
export interface JournalSlice {
  readonly afterSeq: number;
  readonly rowsMax: number;
  readonly bytesMax: number;
  readonly cursorName: string;
}

/**
 * @param list names the list in its cursors
 * @throws Refusal `invalid_limit`, `invalid_cursor`
 */
export function journalSlice({ limit, cursor }: JournalQuery, list: string, runId: string): JournalSlice {
  const cursorName = `${list}:${runId}`;
  const rowsMax = limit === undefined && cursor === undefined ? wholeRowsMax : checkLimit(limit);
  const [afterSeq] = cursor === undefined ? [0] : decodeCursor(cursorName, cursor, ['integer']);
  return { afterSeq: afterSeq as number, rowsMax, bytesMax: documentBytesMax, cursorName };
}

/** @param count how many entries there were before the rows were read: they have the numbers up to it, without gaps */
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
