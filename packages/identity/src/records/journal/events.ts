import type { Db } from '@baton/kernel/db';
import { type Reply, reply } from '@baton/kernel/service';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type EventPage, type EventQuery, eventOf } from './event.ts';
import { findEventsAfter, findSettledSequence } from './journal.sql.ts';

/** A page, and the number up to which the reader has seen everything. */
interface Look {
  page: EventPage;
  readTo: number;
}

/**
 * Reads a page of the journal (contract, section 12); with `wait`, it waits while there is no event for the query.
 * `Journal-Read-To` moves on even without events, so that a reader of a quiet tenant or type doesn't fall below the floor.
 * @throws Refusal `journal_truncated` when events after `after` have been removed
 */
export async function listEvents(
  { db, journalWatch, whenGone }: Context,
  query: EventQuery,
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

async function readPage(db: Db, query: EventQuery): Promise<Look> {
  const { after, limit } = query;
  const settled = (await db.row(findSettledSequence()))?.settled ?? 0;
  const rows = await db.rows(findEventsAfter(query, settled, limit + 1));
  const floor = rows[0]?.floor ?? 0;
  if (after < floor) fail('journal_truncated', {}, { headers: { 'journal-floor': String(floor) } });
  // The row of the floor alone is no event.
  const found = rows.flatMap((row) => (row.sequence === null ? [] : eventOf(row)));
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  const page = { items, next_after: hasMore ? last.sequence : null };
  return { page, readTo: hasMore ? last.sequence : Math.max(after, settled) };
}
