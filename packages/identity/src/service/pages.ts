import { z } from 'zod';
import { decodeCursor, encodeCursor } from '@baton/kernel/http/paging';
import { queryInteger } from '@baton/values/wire';

/**
 * Creation time and id of the last row of the previous page; `start` for the first page, so that one statement serves
 * both.
 */
export type CreatedPosition = readonly [createdAt: string, id: string];

const start: CreatedPosition = ['-infinity', '00000000-0000-0000-0000-000000000000'];

export const rowsPerPageMax = 500;

/** The parameters of a page's statement: it reads `limit + 1` rows after `after`, by creation, then id. */
export interface CreatedPage {
  limit: number;
  after: CreatedPosition;
}

export const PageLimit = queryInteger(1, rowsPerPageMax)
  .default(100)
  .describe('The maximum number of items; 100 by default.');

export const NextAfter = z
  .string()
  .nullable()
  .describe('The cursor of the next page, for `after`; null on the last page.');

/** The cursor of a list in the order of a sequence. */
export const NextSequence = z.int().nullable().describe('The start of the next page; null on the last page.');

/** The schema of a page. Its name in the API description is the name of the item plus `Page`. */
export function pageForm<Item extends z.ZodType, Next extends z.ZodType>(item: Item, next: Next) {
  const { id } = item.meta() ?? {};
  const page = z.strictObject({ items: z.array(item), next_after: next });
  return typeof id === 'string' ? page.meta({ id: `${id}Page` }) : page;
}

/**
 * A list in pages by creation, then id: the parameters of its query, the schema of its response, and the function that
 * reads a page.
 * @param name binds the cursors to this list
 */
export function pagesByCreation<Item extends z.ZodType>(name: string, item: Item) {
  return {
    query: { limit: PageLimit, after: cursorParam(name) },
    form: pageForm(item, NextAfter),
    /**
     * Reads a page.
     * @param find runs the statement, which reads one row more than the page size @param instantOf the time that the
     * list is ordered by, if it isn't the row's `created_at`
     */
    async read<Row extends Positioned>(
      { limit, after }: CreatedPage,
      find: (page: CreatedPage) => Promise<readonly Row[]>,
      itemOf: (row: Row) => z.infer<Item>,
      instantOf?: (row: Row) => string,
    ) {
      const { rows, next_after } = cutPage(name, await find({ limit, after }), limit, instantOf);
      return { items: rows.map((row) => itemOf(row)), next_after };
    },
  };
}

interface Positioned {
  readonly id: string;
  readonly created_at: string;
}

/** The parameter `after`; cursors of another list are refused like any malformed parameter. */
export function cursorParam(name: string) {
  return z
    .string()
    .max(8000)
    .optional()
    .transform((cursor, check) => positionOf(name, cursor, check))
    .describe('The cursor of the previous page; absent for the first page.');
}

/** The rows of a page, without the extra row that was read, and the cursor of the next page; null on the last one. */
export function cutPage<Row extends Positioned>(
  name: string,
  found: readonly Row[],
  limit: number,
  instantOf: (row: Row) => string = ({ created_at }) => created_at,
) {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const isLast = found.length <= limit || last === undefined;
  return { rows, next_after: isLast ? null : encodeCursor(name, [instantOf(last), last.id]) };
}

function positionOf(name: string, cursor: string | undefined, check: z.core.$RefinementCtx): CreatedPosition {
  if (cursor === undefined) return start;
  try {
    return decodeCursor(name, cursor, ['timestamp', 'uuid']) as unknown as CreatedPosition;
  } catch {
    check.addIssue({ code: 'custom', message: 'must be the cursor of the previous page' });
    return z.NEVER;
  }
}
