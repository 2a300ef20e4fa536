import { z } from 'zod';
import { QueryWord } from '@baton/values/wire';

/** The query of a list that is returned whole unless a request has `limit` or `cursor`. */
export const wholeListQuery = {
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
      description:
        'Maximum number of items, 1 to 200. Without it and without a cursor, the whole list is returned.',
    }),
  cursor: QueryWord.optional().describe('The `nextCursor` of the previous page.'),
};

export interface WholeListQuery {
  limit?: number | undefined;
  cursor?: string | undefined;
}
