import type { Db } from '@baton/kernel/database/db';
import { type Reply, reply } from '@baton/kernel/http/service';
import type { Context } from '../context.ts';
import { findResume } from '../epoch/epoch.ts';
import { fail } from '../errors.ts';
import { type EventPage, type EventQuery, eventOf } from './event.ts';
import { findEventsAfter, findSettledSequence } from './journal.sql.ts';

/** A page, and the number up to which the reader has received everything. */
interface Look {
  page: EventPage;
  readTo: number;
}

/**
 * Reads a page of the journal (see docs/reference/audit.md#journal); with `wait`, it waits until an event matches the
 * query. `Journal-Read-To` advances even without events, so that a reader of a quiet tenant or type doesn't fall
 * below the floor.
 * @throws Refusal `journal_rewound` if `after` belongs to another history, `journal_truncated` if events after it
 * have been removed
 */
export async function listEvents(context: Context, query: EventQuery): Promise<Reply<EventPage>> {
  const { db, journalWatch, whenGone } = context;
  await refuseOtherHistory(context, query.after);
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
  const { floor = 0, newest = null } = rows[0] ?? {};
  if (after < floor) fail('journal_truncated', {}, { headers: { 'journal-floor': String(floor) } });
  // A row without a sequence contains only the floor and is not an event.
  const found = rows.flatMap((row) => (row.sequence === null ? [] : eventOf(row)));
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  const page = { items, next_after: hasMore ? last.sequence : null };
  return { page, readTo: hasMore ? last.sequence : Math.max(after, newest ?? floor) };
}

/** The refusal is returned after a commit, because the read may have started an epoch. */
async function refuseOtherHistory({ db, counters, log }: Context, after: number): Promise<void> {
  const resume = await findResume(db, log, after);
  if (resume === null) return;
  if (counters.rewound())
    log.warn(
      { after, resume },
      "a reader of the journal has read a history that this database does not contain: events written after its backup, or after its standby's last replication, are lost",
    );
  fail('journal_rewound', {}, { headers: { 'journal-read-to': String(resume) }, commits: true });
}
