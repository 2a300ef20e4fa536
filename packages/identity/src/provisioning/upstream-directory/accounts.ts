import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/db';
import {
  dropName,
  type HeldNameRow,
  holdName,
  insertLeftAccount,
  keepName,
  type NameHold,
  noteAccount,
} from './accounts.sql.ts';

/** Longer than any request can take: its roads, its waits for a connection, and its statements. */
const holdSecondsMax = 120;

/** The right of one request to make the account of a user name, which every process respects. */
export class HeldName {
  readonly #hold: NameHold;
  /** The account that is left from a user who was deleted, or from a creation that found no end here. */
  readonly leftId: string | undefined;
  /** When the first attempt began whose outcome is unknown: milliseconds since 1970. */
  readonly triedMs: number | undefined;

  constructor(hold: NameHold, row: HeldNameRow) {
    this.#hold = hold;
    this.leftId = row.upstream_id ?? undefined;
    this.triedMs = row.is_tried ? row.first_tried_ms : undefined;
  }

  /** Ends the hold in the transaction that stores the user; false when another request has taken the name meanwhile. */
  async end(db: Db): Promise<boolean> {
    return (await db.run(dropName(this.#hold))) === 1;
  }

  /** Remembers an account that no user stands for; false when the hold has ended. */
  async note(db: Db, upstreamId: string): Promise<boolean> {
    return (await db.run(noteAccount(this.#hold, upstreamId))) === 1;
  }

  /**
   * Lets go of a name after a failure.
   * @param leftId the account that whoever asks for the name next gets
   * @param isSettled whether it is sure that no account was made; otherwise the attempt is remembered
   */
  async letGo(db: Db, leftId: string | undefined, isSettled: boolean): Promise<void> {
    const isNothingLeft = leftId === undefined && this.triedMs === undefined && isSettled;
    await db.run(isNothingLeft ? dropName(this.#hold) : keepName(this.#hold, leftId ?? null));
  }
}

/** Takes a name for the request that makes its account; undefined while another request does. */
export async function takeName(
  db: Db,
  name: { sourceId: string; tenantId: string; userName: string },
): Promise<HeldName | undefined> {
  const hold = { ...name, holder: randomUUID() };
  const row = await db.row(holdName(hold, holdSecondsMax));
  return row === undefined ? undefined : new HeldName(hold, row);
}

/** Remembers the account of a user who is deleted here. */
export async function leaveAccount(
  db: Db,
  name: { sourceId: string; tenantId: string; userName: string },
  upstreamId: string,
): Promise<void> {
  await db.run(insertLeftAccount(name, upstreamId));
}
