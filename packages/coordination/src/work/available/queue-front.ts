import { BoundedCache } from '@baton/values/bounded-cache';
import type { Context } from '../context.ts';
import { findPagesRead, isNarrowed, lockNextTasks, type QueueRow, type WorkSearch } from './available.sql.ts';

/**
 * Dead rows stay in the queue's index until no transaction can see them. With a long idle transaction, such as a dump,
 * every search from the front reads all of them (40 ms for 60,000). In that case, a process remembers per tenant where
 * the last search found work and starts there. Tasks that were inserted before that position in the meantime (a higher
 * priority, or a released claim) wait for the next search from the front. Searches from the front take at most about a
 * twentieth of the time, but run at least every ten seconds and whenever a search found fewer tasks than requested.
 */
interface Front {
  readonly at: QueueRow;
  /** In `performance.now()` time. */
  readonly until: number;
}

const fronts = new BoundedCache<Front>(10_000);
/** A search from the front counts as slow if it takes longer than this and reads at least `pagesMin` pages. */
const slowMs = 20;
const pagesMin = 1000;
const shareOfTime = 20;
const keptMsMax = 10_000;

/**
 * The first candidates, locked against rivals until the command ends. Returns none if more than one set must be
 * searched, or if some tasks are assigned to the caller.
 */
export async function lockNextWork(context: Context, search: WorkSearch, rowsMax: number): Promise<string[]> {
  if (isNarrowed(search) || search.includesAssigned) return [];
  const { db, tenantId } = context;
  const known = fronts.get(tenantId);
  if (known !== undefined && known.until > performance.now()) {
    const rows = await db.rows(lockNextTasks(search, rowsMax, known.at));
    if (rows.length === rowsMax) {
      remember(tenantId, rows, known.until);
      return rows.map(({ task_id }) => task_id);
    }
  }
  const began = performance.now();
  const rows = await db.rows(lockNextTasks(search, rowsMax));
  const ms = performance.now() - began;
  if (ms > slowMs && ((await db.row(findPagesRead()))?.pages ?? 0) >= pagesMin)
    remember(tenantId, rows, performance.now() + Math.min(shareOfTime * ms, keptMsMax));
  return rows.map(({ task_id }) => task_id);
}

function remember(tenantId: string, [first]: readonly QueueRow[], until: number): void {
  if (first !== undefined) fronts.keep(tenantId, { at: first, until }, 1);
}
