import type { Db } from '@baton/kernel/db';
import { type Reply, reply } from '@baton/kernel/service';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
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

/** A page, and the number up to which nothing else is for this reader. */
interface Look {
  page: EventPage;
  readTo: number;
}

/**
 * A page of the journal (contract, section 12). While there is nothing for the query, it is waited for. Who follows a
 * quiet tenant or type learns from `Journal-Read-To` how far that is, or would fall below the floor without having
 * missed anything.
 * @throws Refusal `journal_truncated` when events after `after` have been removed
 */
export async function readEvents(
  { db, journalWatch, whenGone }: Context,
  query: EventQuery & { limit: number; wait: number },
): Promise<Reply<EventPage>> {
  const look = await readPage(db, query);
  if (look.page.items.length > 0 || query.wait === 0) return answerOf(look);
  const { tenantId, type, wait } = query;
  const order = { tenantId, type, readTo: look.readTo, waitMs: wait * 1000, whenGone };
  return answerOf((await journalWatch.wait(order)) ? await readPage(db, query) : look);
}

function answerOf({ page, readTo }: Look): Reply<EventPage> {
  return reply(200, page, { 'journal-read-to': String(readTo) });
}

async function readPage(db: Db, query: EventQuery & { limit: number }): Promise<Look> {
  const { after, limit } = query;
  const settled = (await db.row(settledSequence()))?.settled ?? 0;
  const rows = await db.rows(eventsAfter(query, settled, limit + 1));
  const floor = rows[0]?.floor ?? 0;
  if (after < floor) fail('journal_truncated', {}, { headers: { 'journal-floor': String(floor) } });
  const found = rows.flatMap(eventOf);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  const page = { items, next_after: hasMore ? last.sequence : null };
  return { page, readTo: hasMore ? last.sequence : Math.max(after, settled) };
}

/** The row of the floor alone is no event. */
function eventOf(row: FoundRow): EventRow[] {
  if (row.sequence === null) return [];
  const { floor: _, ...event } = row;
  return [event];
}
