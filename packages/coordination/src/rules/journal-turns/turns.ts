import { Refusal } from '@baton/kernel/http/refusal';
import { isLegacy, type JournalPosition, parseCursor } from '../../ledger/journal/cursor.ts';
import type { EventRow } from '../../ledger/journal/event.ts';
import { everyEvent, positionOf, readPageAfter } from '../../ledger/journal/reading.ts';
import type { Context } from '../context.ts';
import {
  deleteCursor,
  findTurn,
  lockTurn,
  type TurnRow,
  updateBrokenTurn,
  updateTurn,
  upsertCursor,
} from './turns.sql.ts';

/** Readers of the journal that work in turns, a tenant at a time: work rules now, each with a cursor of its own. */

export type { TurnRow };

const backoffSecondsMax = 60;

/** Events of the journal, and where to go on behind them. */
export interface EventPage {
  readonly rows: readonly EventRow[];
  readonly end: JournalPosition;
  readonly hasMore: boolean;
}

/** Where the reader has come to; undefined for a tenant without a cursor. */
export function findPlace({ db, tenantId }: Context, consumer: string): Promise<JournalPosition | undefined> {
  return db.row(findTurn(tenantId, consumer));
}

/** The next events. Where the cursor's history has ended or was pruned, the cursor is set to what is left. */
export async function readEvents(
  context: Context,
  place: JournalPosition,
  limit: number,
): Promise<EventPage> {
  const { db, tenantId, log } = context;
  try {
    const { rows, next, hasMore } = await readPageAfter(db, positionOf(place), {
      tenantId,
      filter: everyEvent,
      limit,
    });
    return { rows, end: next ?? positionOf(place), hasMore };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const left = error.details['resumeCursor'] ?? error.details['floorCursor'];
    const found = typeof left === 'string' ? parseCursor(left) : undefined;
    if (found === undefined || isLegacy(found)) throw error;
    log.warn({ tenantId, code: error.code }, 'a cursor was set to what is left of the journal');
    return { rows: [], end: found, hasMore: true };
  }
}

export const isSamePlace = (one: JournalPosition, other: JournalPosition) =>
  one.position === other.position && one.sequence === other.sequence;

/**
 * Takes the tenant's turn until the end of the transaction.
 * @param before where the cursor was when the events were read; left out, it may be anywhere
 * @returns undefined where another process has it, or has moved the cursor since
 */
export async function lockPlace(
  { db, tenantId }: Context,
  consumer: string,
  before?: JournalPosition,
): Promise<TurnRow | undefined> {
  const turn = await db.row(lockTurn(tenantId, consumer));
  return turn !== undefined && isSamePlace(turn, before ?? turn) ? turn : undefined;
}

/** Everything up to here is done. */
export function moveTo(
  { db, tenantId }: Context,
  consumer: string,
  place: JournalPosition,
): Promise<unknown> {
  return db.run(updateTurn(tenantId, consumer, place));
}

export function failuresAt(turn: TurnRow, { id }: EventRow): number {
  return turn.parked_event_id === id ? turn.failure_count + 1 : 1;
}

/** The next event broke its reader: it is tried again after a pause that doubles, up to a minute. */
export async function putOffTurn(
  { db, tenantId }: Context,
  consumer: string,
  { turn, event, reason }: { turn: TurnRow; event: EventRow; reason: string },
): Promise<void> {
  const failures = failuresAt(turn, event);
  const againSeconds = Math.min(2 ** (failures - 1), backoffSecondsMax);
  await db.run(updateBrokenTurn(tenantId, consumer, { failures, eventId: event.id, againSeconds, reason }));
}

/** Gives the tenant a cursor at the present end of its journal, unless it has one, and keeps it until the commit. */
export function holdCursor({ db, tenantId }: Context, consumer: string): Promise<unknown> {
  return db.run(upsertCursor(tenantId, consumer));
}

/** Takes the cursor away, whose turn the caller has: a tenant that needs none holds nothing back. */
export function dropCursor({ db, tenantId }: Context, consumer: string): Promise<unknown> {
  return db.run(deleteCursor(tenantId, consumer));
}
