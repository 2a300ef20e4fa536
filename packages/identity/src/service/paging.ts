import { decodeCursor, encodeCursor } from '@baton/kernel/paging';
import { queryInteger } from '@baton/kernel/wire';
import { z } from 'zod';

/** The last row of the page before; `start` on the first page, so that one statement serves both. */
export type CreatedPosition = readonly [createdAt: string, id: string];

const start: CreatedPosition = ['-infinity', '00000000-0000-0000-0000-000000000000'];

export const rowsPerPageMax = 500;

/** What the statement of a page needs: read `limit + 1` rows after `after`, by creation, then id. */
export interface CreatedPage {
  limit: number;
  after: CreatedPosition;
}

export const PageLimit = queryInteger(1, rowsPerPageMax)
  .default(100)
  .describe('How many at most; 100 when it is left out.');

export const NextAfter = z
  .string()
  .nullable()
  .describe('The cursor of the next page, to be sent as `after`; null when no more exist.');

/**
 * A list in pages by creation, then id. `name` binds its cursors to it: those of another list are refused as any
 * malformed parameter is.
 */
export function pagesByCreation(name: string) {
  return {
    query: {
      limit: PageLimit,
      after: z
        .string()
        .optional()
        .transform((cursor, check) => positionOf(name, cursor, check))
        .describe('The cursor that the page before gave; absent for the first page.'),
    },
    /** The page out of `limit + 1` rows that were read, and the cursor after it; null when no more exist. */
    cut<Row extends { created_at: string; id: string }>(
      rows: readonly Row[],
      limit: number,
      instantOf: (row: Row) => string = ({ created_at }) => created_at,
    ) {
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      const isLast = rows.length <= limit || last === undefined;
      return { items, next_after: isLast ? null : encodeCursor(name, [instantOf(last), last.id]) };
    },
  };
}

function positionOf(name: string, cursor: string | undefined, check: z.core.$RefinementCtx): CreatedPosition {
  if (cursor === undefined) return start;
  try {
    return decodeCursor(name, cursor, ['timestamp', 'uuid']) as unknown as CreatedPosition;
  } catch {
    check.addIssue({ code: 'custom', message: 'must be what the page before gave' });
    return z.NEVER;
  }
}
