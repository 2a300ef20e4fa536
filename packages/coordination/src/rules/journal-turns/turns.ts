import { Refusal } from '@baton/kernel/http/refusal';
import { isLegacy, type JournalPosition, parseCursor } from '../../ledger/journal/cursor.ts';
import type { EventRow } from '../../ledger/journal/event.ts';
import { everyEvent, positionOf, readPageAfter } from '../../ledger/journal/read-pages.ts';
import type { Context } from '../context.ts';
import {
  deleteCursor,
  findTurn,
  lockTurn,
  type TurnRow,
  updateFailedTurn,
  updateTurn,
  upsertCursor,
} from './turns.sql.ts';

/** Readers of the journal that work in turns, one tenant at a time, each with its own cursor. */

export type { TurnRow };

const backoffSecondsMax = 60;

/** Events from the journal, and the position after them. */
export interface EventPage {
  readonly rows: readonly EventRow[];
  readonly end: JournalPosition;
  readonly hasMore: boolean;
}

/** The reader's position; undefined for a tenant without a cursor. */
export function findPlace({ db, tenantId }: Context, consumer: string): Promise<JournalPosition | undefined> {
  return db.row(findTurn(tenantId, consumer));
}

/**
 * The next events. If the cursor's history has ended or was pruned, the cursor moves to the start of the remaining
 * journal.
 */
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
    log.warn({ tenantId, code: error.code }, 'cursor moved to the start of the remaining journal');
    return { rows: [], end: found, hasMore: true };
  }
}

export const isSamePlace = (one: JournalPosition, other: JournalPosition) =>
  one.position === other.position && one.sequence === other.sequence;

/**
 * Locks the tenant's turn until the end of the transaction.
 * @param before the cursor's position when the events were read; without it, any position is accepted
 * @returns undefined if another process has locked the turn, or has moved the cursor since
 */
export async function lockPlace(
  { db, tenantId }: Context,
  consumer: string,
  before?: JournalPosition,
): Promise<TurnRow | undefined> {
  const turn = await db.row(lockTurn(tenantId, consumer));
  return turn !== undefined && isSamePlace(turn, before ?? turn) ? turn : undefined;
}

/** Moves the cursor to this position. */
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

/** Records a failure at the next event: it is retried after a delay that doubles, up to a minute. */
export async function postponeTurn(
  { db, tenantId }: Context,
  consumer: string,
  { turn, event, reason }: { turn: TurnRow; event: EventRow; reason: string },
): Promise<void> {
  const failures = failuresAt(turn, event);
  const againSeconds = Math.min(2 ** (failures - 1), backoffSecondsMax);
  await db.run(updateFailedTurn(tenantId, consumer, { failures, eventId: event.id, againSeconds, reason }));
}

/**
 * Creates a cursor for the tenant at the current end of its journal, unless it has one, and locks it until the commit.
 */
export function createCursor({ db, tenantId }: Context, consumer: string): Promise<unknown> {
  return db.run(upsertCursor(tenantId, consumer));
}

/** Deletes the cursor, whose turn the caller has locked: a tenant that needs no cursor must not hold back retention. */
export function removeCursor({ db, tenantId }: Context, consumer: string): Promise<unknown> {
  return db.run(deleteCursor(tenantId, consumer));
}
