import type { Db } from '@baton/kernel/database/db';
import { requireSight, type ViewerContext } from '../../service/sight/sight.ts';
import { enterEpoch } from '../epoch/epoch.ts';
import { fail } from '../errors.ts';
import { encodeCursor, isLegacy, type JournalCursor, type JournalPosition } from './cursor.ts';
import type { EventRow } from './event.ts';
import {
  type EventFilter,
  findCommonEvent,
  findEntityEventsBackward,
  findEntityEventsForward,
  findEventsBackward,
  findEventsForward,
  findEveryEventBackward,
  findEveryEventForward,
  findNewest,
  findScanEndBackward,
  findScanEndForward,
  findWorkspaceId,
  type PageBounds,
  type PageRow,
  pageRowsMax,
} from './events.sql.ts';

export type { EventFilter } from './events.sql.ts';

export const everyEvent: EventFilter = {
  typePatterns: null,
  entityType: null,
  entityId: null,
  actorId: null,
  workspaceId: null,
  viewerId: null,
};

/**
 * A filter with few matches would read the whole journal for one page. At this limit the page ends: it is short, but
 * has a cursor from which to continue. In a journal of a million events, skipping 50,000 took 30 ms; above 100,000 the
 * planner began to sort instead.
 */
const scanMaxDefault = 50_000;

const origin: JournalPosition = { position: 0, sequence: 0 };
const beyond: JournalPosition = { position: Number.MAX_SAFE_INTEGER, sequence: Number.MAX_SAFE_INTEGER };

/** @throws Refusal `not_found` for a workspace that doesn't exist, or that the viewer can't see */
export async function requireEventWorkspace(context: ViewerContext, workspaceId: string): Promise<void> {
  const found = await context.db.row(findWorkspaceId(context.tenantId, workspaceId));
  if (found === undefined) fail('not_found', { workspaceId });
  await requireSight(context, workspaceId, { workspaceId });
}

export interface PageRequest {
  readonly tenantId: string;
  readonly filter: EventFilter;
  readonly limit: number;
  readonly scanMax?: number;
}

export interface ForwardPage {
  /** In the order of the journal. */
  readonly rows: readonly EventRow[];
  readonly hasMore: boolean;
  /** The start of the next page; undefined when this one made no progress. */
  readonly next: JournalPosition | undefined;
  /** The beginning of the journal. */
  readonly floor: JournalPosition;
  /** Everything below this position was read; after the last page, reading may continue here. */
  readonly horizon: number;
  readonly isHeldBack: boolean;
}

export interface BackwardPage {
  /** In the order of the journal. */
  readonly rows: readonly EventRow[];
  /** The end of the previous page; undefined at the beginning of the journal. */
  readonly previous: JournalPosition | undefined;
  /**
   * The cursor from which reading continues: for a tail, after events that its filter skipped; undefined in an empty
   * journal.
   */
  readonly newest: JournalPosition | undefined;
  readonly floor: JournalPosition;
}

/**
 * The stable events after `after`; if it is omitted, from the oldest that still exists.
 * @throws Refusal `cursor_below_journal_floor`, `cursor_from_other_history`
 */
export async function readPageAfter(
  db: Db,
  after: JournalCursor | undefined,
  request: PageRequest & { asksHeldBack?: boolean },
): Promise<ForwardPage> {
  const { filter, limit } = request;
  const reading = readingOf(request, {
    from: after === undefined || isLegacy(after) ? origin : after,
    afterSequence: after !== undefined && isLegacy(after) ? after.afterSequence : 0,
    asksHeldBack: request.asksHeldBack ?? false,
  });
  const { bound, rows } = await read(db, statementFor(filter, forward)(reading));
  const floor = floorOf(bound);
  refuseBelowFloor(after, bound);
  await refuseOtherHistory(db, after, bound, reading);
  const common = { floor, horizon: bound.horizon, isHeldBack: bound.is_held_back };
  const last = rows.slice(0, limit).at(-1);
  if (rows.length > limit)
    return { ...common, rows: rows.slice(0, limit), hasMore: true, next: last && positionOf(last) };
  if (isUnfiltered(filter)) return { ...common, rows, hasMore: false, next: last && positionOf(last) };
  const scanEnd =
    filter.entityId === null ? await db.row(findScanEndForward(reading, bound.horizon)) : undefined;
  // Events pruned in the meantime can no longer be counted, so the page is read again. See
  // docs/reference/journal.md#archive-and-prune.
  if (scanEnd !== undefined && isBehind(floorOf(scanEnd), floor)) return readPageAfter(db, after, request);
  if (scanEnd !== undefined && scanEnd.position !== null)
    return { ...common, rows, hasMore: true, next: positionOf(scanEnd) };
  return { ...common, rows, hasMore: false, next: await db.row(findNewest(reading, bound.horizon)) };
}

/**
 * The stable events that end just before `before`; if it is omitted, the newest.
 * @throws Refusal `cursor_below_journal_floor`, `cursor_from_other_history`
 */
export async function readPageBefore(
  db: Db,
  before: JournalPosition | undefined,
  request: PageRequest,
): Promise<BackwardPage> {
  const { filter, limit } = request;
  const reading = readingOf(request, { from: before ?? beyond, afterSequence: 0, asksHeldBack: false });
  const { bound, rows } = await read(db, statementFor(filter, backward)(reading));
  const floor = floorOf(bound);
  refuseBelowFloor(before, bound);
  await refuseOtherHistory(db, before, bound, reading);
  const kept = rows.slice(0, limit).reverse();
  const first = kept[0];
  const newest =
    isUnfiltered(filter) || before !== undefined
      ? kept.at(-1)
      : await db.row(findNewest({ ...reading, from: origin }, bound.horizon));
  const common = { rows: kept, newest: newest && positionOf(newest), floor };
  if (rows.length > limit) return { ...common, previous: first && positionOf(first) };
  const isCut = !isUnfiltered(filter) && filter.entityId === null;
  return {
    ...common,
    previous: isCut ? await db.row(findScanEndBackward(reading, bound.horizon)) : undefined,
  };
}

const forward = {
  every: findEveryEventForward,
  filtered: findEventsForward,
  ofEntity: findEntityEventsForward,
};
const backward = {
  every: findEveryEventBackward,
  filtered: findEventsBackward,
  ofEntity: findEntityEventsBackward,
};

function statementFor(filter: EventFilter, statements: typeof forward): typeof findEventsForward {
  if (filter.entityId !== null) return statements.ofEntity;
  return isUnfiltered(filter) ? statements.every : statements.filtered;
}

function readingOf(
  { tenantId, filter, limit, scanMax = scanMaxDefault }: PageRequest,
  place: Pick<PageBounds, 'from' | 'afterSequence' | 'asksHeldBack'>,
): PageBounds {
  if (limit >= pageRowsMax) throw new Error(`a page of ${limit} events is too long`);
  return { tenantId, filter, rowsMax: limit + 1, scanMax, ...place };
}

async function read(db: Db, statement: ReturnType<typeof findEventsForward>) {
  let found = await db.rows(statement);
  if (found[0]?.is_current === false) {
    await enterEpoch(db);
    found = await db.rows(statement);
  }
  const [bound] = found;
  if (bound === undefined) throw new Error('the tenant has no journal floor');
  return { bound, rows: found.filter(isEvent) };
}

function isEvent(row: PageRow): row is PageRow & EventRow {
  return row.id !== null;
}

function isUnfiltered(filter: EventFilter): boolean {
  return Object.values(filter).every((part) => part === null);
}

export function positionOf({ position, sequence }: JournalPosition): JournalPosition {
  return { position, sequence };
}

/** Whether `left` is after `right`. */
export function isBehind(left: JournalPosition, right: JournalPosition): boolean {
  return (
    left.position > right.position || (left.position === right.position && left.sequence > right.sequence)
  );
}

function floorOf({
  floor_position: position,
  floor_sequence: sequence,
}: Pick<PageRow, 'floor_position' | 'floor_sequence'>): JournalPosition {
  return { position, sequence };
}

function refuseBelowFloor(cursor: JournalCursor | undefined, bound: PageRow): void {
  if (cursor === undefined) return;
  const floor = floorOf(bound);
  const topSequence = Math.max(bound.floor_top_sequence, floor.sequence);
  const isBelow = isLegacy(cursor) ? cursor.afterSequence < topSequence : isBehind(floor, cursor);
  if (!isBelow) return;
  const requestedCursor = isLegacy(cursor) ? String(cursor.afterSequence) : encodeCursor(cursor);
  fail('cursor_below_journal_floor', { floorCursor: encodeCursor(floor), requestedCursor });
}

/**
 * A cursor that can't be from this history is from one that a restore or a failover has ended. A legacy sequence is
 * only a lower bound and belongs to no history. The refusal commits its transaction, because the read may have begun an
 * epoch.
 */
async function refuseOtherHistory(
  db: Db,
  cursor: JournalCursor | undefined,
  bound: PageRow,
  reading: PageBounds,
): Promise<void> {
  if (cursor === undefined || isLegacy(cursor) || bound.is_known) return;
  const floor = floorOf(bound);
  if (!isBehind(cursor, floor)) return;
  const common = await db.row(findCommonEvent(reading, bound.horizon));
  const resume = common === undefined || isBehind(floor, common) ? floor : common;
  fail('cursor_from_other_history', { resumeCursor: encodeCursor(resume) }, { commits: true });
}
