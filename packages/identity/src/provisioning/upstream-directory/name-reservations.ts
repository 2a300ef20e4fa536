import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import {
  deleteReservation,
  endReservation,
  insertLeftAccount,
  insertReservation,
  type Reservation,
  type ReservationRow,
  updateReservedAccount,
} from './name-reservations.sql.ts';

/**
 * Longer than any request can take with two protocols of 5 seconds each, waits for connections and in a queue, and
 * statements.
 */
const reservedSecondsMax = 120;

/** The right of one request to create the account of a user name. All processes respect it. */
export class NameReservation {
  readonly #reservation: Reservation;
  /** The account of a deleted user, or of an unfinished creation. */
  readonly leftId: string | undefined;
  /** The start of the first attempt with an unknown outcome, in milliseconds since 1970. */
  readonly triedMs: number | undefined;

  constructor(reservation: Reservation, row: ReservationRow) {
    this.#reservation = reservation;
    this.leftId = row.upstream_id ?? undefined;
    this.triedMs = row.is_tried ? row.first_tried_ms : undefined;
  }

  /** Call it in the transaction that stores the user. @returns false if another request now has the name */
  async end(db: Db): Promise<boolean> {
    return (await db.run(deleteReservation(this.#reservation))) === 1;
  }

  /** Stores the id of an account that has no user. @returns false when the reservation has ended */
  async note(db: Db, upstreamId: string): Promise<boolean> {
    return (await db.run(updateReservedAccount(this.#reservation, upstreamId))) === 1;
  }

  /**
   * Ends the reservation after a failure.
   * @param leftId the account for the next request with this name
   * @param isSettled whether it is certain that no account was created; if not, the attempt is remembered
   */
  async release(db: Db, leftId: string | undefined, isSettled: boolean): Promise<void> {
    const isNothingLeft = leftId === undefined && this.triedMs === undefined && isSettled;
    const statement = isNothingLeft
      ? deleteReservation(this.#reservation)
      : endReservation(this.#reservation, leftId ?? null);
    await db.run(statement);
  }
}

/** @returns undefined while another request has the name */
export async function reserveName(
  db: Db,
  name: { sourceId: string; tenantId: string; userName: string },
): Promise<NameReservation | undefined> {
  const reservation = { ...name, holder: randomUUID() };
  const row = await db.row(insertReservation(reservation, reservedSecondsMax));
  return row === undefined ? undefined : new NameReservation(reservation, row);
}

/** Stores the account of a deleted user, so that a later user with the name gets the same account. */
export async function keepAccount(
  db: Db,
  name: { sourceId: string; tenantId: string; userName: string },
  upstreamId: string,
): Promise<void> {
  await db.run(insertLeftAccount(name, upstreamId));
}
