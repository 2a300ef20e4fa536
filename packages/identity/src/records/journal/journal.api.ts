import { FreeObject, queryInteger, Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { PageLimit } from '../../service/paging.ts';
import { endpoint } from '../context.ts';
import { readEvents } from './reading.ts';

const JournalEvent = z.strictObject({
  sequence: z.int(),
  id: Uuid,
  tenant_id: Uuid,
  type: z.string(),
  aggregate_type: z.string(),
  aggregate_id: Uuid,
  payload: FreeObject,
  occurred_at: Timestamp,
});

export const listEvents = endpoint({
  id: 'listEvents',
  method: 'GET',
  path: '/events',
  summary: 'Read the journal of all tenants.',
  description:
    'In the order of `sequence`. A lower sequence never appears after a higher one was served, so a reader that keeps its last sequence as `after` misses nothing; the header `Journal-Read-To` serves as well, and moves on while nothing is for the reader. Where old events are removed, an `after` below the last removed one is refused, and the header `Journal-Floor` of that answer is the `after` to start from.',
  query: {
    after: queryInteger(0, Number.MAX_SAFE_INTEGER).default(0).describe('The last sequence that was read.'),
    limit: PageLimit,
    wait: queryInteger(0, 30)
      .default(0)
      .describe(
        'How many seconds to wait for an event while there is none; a busy or stopping service waits less.',
      ),
    tenantId: Uuid.optional(),
    type: z.string().max(100).optional(),
  },
  returns: {
    200: z.strictObject({
      items: z.array(JournalEvent),
      next_after: z.int().nullable().describe('Where the next page starts; null when no more exist.'),
    }),
  },
  errors: ['journal_truncated'],
  handle: ({ query }, context) => readEvents(context, query),
});

export const journalApi = [listEvents];
