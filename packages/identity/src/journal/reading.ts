import type { Db } from '@baton/kernel/db';
import type { Context } from '../context.ts';
import { fail } from '../service.ts';
import {
  type EventQuery,
  type EventRow,
  eventsAfter,
  type FoundRow,
  settledSequence,
} from './journal.sql.ts';

export interface EventPage {
  items: EventRow[];
  next_after: number | null;
}

/**
 * A page of the journal (contract, section 12). While there is nothing for the query, it is waited for.
 * @throws Refusal `journal_truncated` when events after `after` have been removed
 */
export async function readEvents(
  { db, journalWatch, whenGone }: Context,
  query: EventQuery & { limit: number; wait: number },
): Promise<EventPage> {
  const { page, settled } = await readPage(db, query);
  if (page.items.length > 0 || query.wait === 0) return page;
  const { tenantId, type, after, wait } = query;
  const readTo = Math.max(after, settled);
  const mayRead = await journalWatch.wait({ tenantId, type, readTo, waitMs: wait * 1000, whenGone });
  return mayRead ? (await readPage(db, query)).page : page;
}

async function readPage(
  db: Db,
  query: EventQuery & { limit: number },
): Promise<{ page: EventPage; settled: number }> {
  const { after, limit } = query;
  const settled = (await db.row(settledSequence()))?.settled ?? 0;
  const rows = await db.rows(eventsAfter(query, settled, limit + 1));
  const floor = rows[0]?.floor ?? 0;
  if (after < floor) fail('journal_truncated', {}, { headers: { 'journal-floor': String(floor) } });
  const found = rows.flatMap(eventOf);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return { page: { items, next_after: hasMore ? last.sequence : null }, settled };
}

/** The row of the floor alone is no event. */
function eventOf(row: FoundRow): EventRow[] {
  if (row.sequence === null) return [];
  const { floor: _, ...event } = row;
  return [event];
}
