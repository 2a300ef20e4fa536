import { queryInteger, Timestamp, Uuid, FreeObject } from '@baton/kernel/wire';
import { z } from 'zod';
import { endpoint } from '../service.ts';
import { eventsAfter, settledSequence } from './journal.sql.ts';

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
  method: 'GET',
  path: '/events',
  summary: 'Read the journal of all tenants.',
  description:
    'In the order of `sequence`. A lower sequence never appears after a higher one was served, so a reader that keeps its last sequence as `after` misses nothing.',
  query: {
    after: queryInteger(0, Number.MAX_SAFE_INTEGER).default(0).describe('The last sequence that was read.'),
    limit: queryInteger(1, 500).default(100),
    tenantId: Uuid.optional(),
    type: z.string().max(100).optional(),
  },
  returns: {
    200: z.strictObject({
      items: z.array(JournalEvent),
      next_after: z.int().nullable().describe('Where the next page starts; null when no more exist.'),
    }),
  },
  async handle({ query }, { db }) {
    const { after, limit, tenantId, type } = query;
    const settled = (await db.row(settledSequence()))?.settled ?? 0;
    const rows = await db.rows(eventsAfter({ after, settled, tenantId, type, rowsMax: limit + 1 }));
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return { items, next_after: rows.length > limit && last !== undefined ? last.sequence : null };
  },
});

export const journalApi = [listEvents];
