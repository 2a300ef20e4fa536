import { BoundedCache } from '@baton/values/bounded-cache';
import type { Context } from '../context.ts';
import { findPagesRead, isNarrowed, lockNextTasks, type QueueRow, type WorkSearch } from './available.sql.ts';

/**
 * Rows that were handed out stay in the queue's index until no transaction could see them any more: beside one that has been
 * idle for long, such as a dump, every search from the front reads past all of them (40 ms for 60,000). Then a process
 * remembers for each tenant where the last search found work, and begins there. What came in before that place meanwhile
 * (a task of a higher priority, or one that was given back) waits for the next search from the front: they take a twentieth
 * of the time, and come at least every ten seconds, and whenever less was found than was asked for.
 */
interface Front {
  readonly at: QueueRow;
  /** By `performance.now()`. */
  readonly until: number;
}

const fronts = new BoundedCache<Front>(10_000);
/** From here on a search from the front counts as slow, if it has read that many pages too. */
const slowMs = 20;
const pagesMin = 1000;
const shareOfTime = 20;
const keptMsMax = 10_000;

/**
 * The first tasks to hand out, kept from rivals until the command ends; none where that takes a search of more than one
 * place, or where some are assigned to the caller.
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
