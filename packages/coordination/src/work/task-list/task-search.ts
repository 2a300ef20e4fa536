import { startOf } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import type { Context } from '../context.ts';
import type { TaskRow } from '../tasks/task.ts';
import { orders, type TaskOrder } from './task-list.sql.ts';
import {
  type Bucket,
  findBuckets,
  findMatchingTasks,
  type ScanResult,
  scanFirstTasks,
} from './task-search.sql.ts';

/**
 * The search `GET /tasks?q=` (docs/reference/tasks.md#list). Its cost doesn't grow with the tenant (decision 0211):
 * common words are found by scanning the first texts of the list, others by the text index, newest bucket first, until
 * the page is full.
 */

/** The number of texts in the first scan. For a word that occurs in a sixth of the tasks, they fill a page of 50. */
const lookTasksMax = 300;
const lookBytesMax = 256 * 1024;
/** The number of buckets in the first step; the newest bucket may contain only a few tasks. */
const firstBuckets = 2;
/** The number of buckets per statement. It is limited because the index compares each of its keys with all others. */
const bucketsMax = 64;
/** With more hits than this in the first step, reading the list itself fills a page sooner. */
const firstHitsMax = 2500;
/** With more hits than this in a later step, the step is divided. */
const hitsMax = 5000;
/**
 * A bucket covers fewer numbers than a step. If a single one has more hits than this, many creation times are out of
 * order, and the list itself is read.
 */
const bucketHitsMax = 100_000;
/** The limit of hits when the list is ordered by date, because all buckets then form one step. */
const datedHitsMax = 20_000;
/** The selectivity that the index should reach, as a share of the tenant's tasks. */
const shareWanted = 1 / 2000;
const gramsMax = 8;

export interface Search {
  /** Not empty. */
  readonly terms: readonly string[];
  readonly order: TaskOrder;
  readonly page: Page;
  /**
   * Reads the page of the list plus one row, either only among these tasks or by comparing each task's text with the
   * terms.
   */
  rowsWith(text: { ids: readonly string[] } | { terms: readonly string[] }): Promise<TaskRow[]>;
}

/**
 * The rows of a page, plus one if more follow.
 * @throws Refusal `invalid_cursor`
 */
export async function searchTasks(context: Context, search: Search): Promise<TaskRow[]> {
  const { db, tenantId } = context;
  const { terms, order, page } = search;
  const start = startOf<TaskRow>(orders[order], page);
  const what = { terms, tasksMax: lookTasksMax, bytesMax: lookBytesMax, start };
  const look = (await db.row(scanFirstTasks(tenantId, order, what))) as ScanResult;
  if (look.is_all || look.ids.length > page.limit) {
    const rows = await rowsOf(search, look.ids);
    if (look.is_all || rows.length > page.limit) return rows;
  }
  const buckets = await db.rows(findBuckets(tenantId));
  const grams = findRarestGrams(look);
  const rows =
    order === 'createdAt'
      ? await newestFirst(context, search, grams, buckets)
      : await allAtOnce(context, search, grams, buckets);
  return rows ?? search.rowsWith({ terms });
}

async function rowsOf({ rowsWith }: Search, ids: readonly string[]): Promise<TaskRow[]> {
  return ids.length === 0 ? [] : rowsWith({ ids });
}

/** The rarest sequences in the sample, as many as are needed to be selective; at least one. */
export function findRarestGrams({
  grams,
  counts,
  sample,
}: Pick<ScanResult, 'grams' | 'counts' | 'sample'>): string[] {
  const byCount = grams
    .map((gram, at) => ({ gram, count: counts[at] ?? 0 }))
    .sort((a, b) => a.count - b.count);
  const taken: string[] = [];
  let share = 1;
  for (const { gram, count } of byCount.slice(0, gramsMax)) {
    if (taken.length > 0 && (share <= shareWanted || count > 0.9 * sample)) break;
    taken.push(gram);
    share *= (count + 1) / (sample + 1);
  }
  return taken;
}

/** Searches all buckets at once, for a list ordered by date. Undefined if many of the tasks contain the terms. */
async function allAtOnce(
  context: Context,
  search: Search,
  grams: readonly string[],
  buckets: readonly Bucket[],
): Promise<TaskRow[] | undefined> {
  const ids: string[] = [];
  for (let at = 0; at < buckets.length; at += bucketsMax) {
    const numbers = buckets.slice(at, at + bucketsMax).map(({ bucket }) => bucket);
    ids.push(...(await idsIn(context, search, grams, { numbers, rowsMax: datedHitsMax + 1 - ids.length })));
    if (ids.length > datedHitsMax) return undefined;
  }
  return rowsOf(search, ids);
}

/** The part of the tenant that is searched. */
interface Part {
  readonly numbers: readonly number[];
  readonly after?: string | null;
  readonly upTo?: string | undefined;
  readonly rowsMax: number;
}

async function idsIn(
  { db, tenantId }: Context,
  { terms }: Search,
  grams: readonly string[],
  { numbers, after, upTo, rowsMax }: Part,
): Promise<string[]> {
  const wanted = {
    terms,
    grams,
    buckets: numbers,
    after: after ?? '-infinity',
    upTo: upTo ?? 'infinity',
    rowsMax,
  };
  return (await db.rows(findMatchingTasks(tenantId, wanted))).map(({ task_id }) => task_id);
}

/**
 * Searches a few buckets at a time. Each step finds all tasks created after the newest task of the buckets below it and
 * before those of the previous step, so its hits continue the list. Undefined if many of the newest tasks contain the
 * terms.
 */
async function newestFirst(
  context: Context,
  search: Search,
  grams: readonly string[],
  buckets: readonly Bucket[],
): Promise<TaskRow[] | undefined> {
  const { order, page } = search;
  const rows: TaskRow[] = [];
  let ids: string[] = [];
  let upTo = startOf<TaskRow>(orders[order], page)?.[0] as string | undefined;
  let hits = 0;
  const first = buckets.findIndex(({ oldest }) => upTo === undefined || oldest <= upTo);
  let [at, step] = [first === -1 ? buckets.length : first, firstBuckets];
  while (at < buckets.length) {
    const end = Math.min(at + step, buckets.length);
    const isFirst = at === first;
    const rowsMax = isFirst ? firstHitsMax : end - at === 1 ? bucketHitsMax : hitsMax;
    const after = buckets[end - 1]?.older_newest;
    const numbers = buckets
      .slice(0, end)
      .filter(({ newest, oldest }) => (upTo === undefined || oldest <= upTo) && newest > (after ?? ''))
      .map(({ bucket }) => bucket);
    const found = await idsIn(context, search, grams, {
      numbers,
      after: after ?? null,
      upTo,
      rowsMax: rowsMax + 1,
    });
    if (found.length > rowsMax) {
      if (isFirst || end - at === 1 || hits > page.limit) return undefined;
      step = Math.ceil((end - at) / 2);
      continue;
    }
    hits += found.length;
    ids = ids.concat(found);
    if (rows.length + ids.length > page.limit) {
      rows.push(...(await rowsOf(search, ids)));
      ids = [];
      if (rows.length > page.limit) return rows;
    }
    [at, upTo] = [end, after ?? undefined];
    step = nextStep(end - first, hits, page.limit);
  }
  return rows.concat(await rowsOf(search, ids));
}

/**
 * The number of buckets that should fill the page if the hit rate stays the same. If there were enough hits but the
 * list filters out most of them, this is the number of all remaining buckets.
 */
function nextStep(searched: number, hits: number, limit: number): number {
  if (hits === 0 || hits > limit) return bucketsMax;
  return Math.min(bucketsMax, Math.max(firstBuckets, Math.ceil((1.5 * searched * limit) / hits) - searched));
}
